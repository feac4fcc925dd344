// Ports: whether one can be had, and what to say if not.
#pragma once

#include <string>

#include "base/result.h"

namespace keiko::server {

/// Tries to bind `address`:`port` and lets it go again; port 0 is always free. `flag` is how a user
/// chooses another. RETURNS: kAlreadyExists if somebody listens there, naming the port, who it
/// might be and the flag; kInvalidArgument for an address that is not this machine's.
Done check_port_free(const std::string& address, int port, const std::string& flag);

/// RETURNS: "127.0.0.1:7070", "[::1]:7070".
std::string host_port(const std::string& address, int port);

}  // namespace keiko::server
