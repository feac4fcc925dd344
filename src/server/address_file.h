// <state>/server.json: how the command line finds the server of this machine.
#pragma once

#include "server/server.h"

namespace keiko::server {

/// Writes {"pid":..,"grpc":"host:port","http":"host:port"} in one step: a reader sees the old file
/// or the new one, never a half.
Done write_address_file(const std::string& state_dir, const ServerAddresses& addresses);

/// Removes the file if this process wrote it.
void remove_address_file(const std::string& state_dir);

}  // namespace keiko::server
