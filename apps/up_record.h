// The files by which `keiko up`, its processes and the next `keiko up` know each other:
// <state>/up.json (ours: who was started) and <state>/server.json (the server's: where it listens).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "drivers/substrate/process/proc.h"
#include "up_options.h"

namespace keiko::up {

struct NamedProcess {
  std::string name;                   ///< "supervisor", "server", "node1"
  process::ProcessIdentity identity;  ///< a pid alone could be somebody else's by now
};

struct UpRecord {
  std::vector<NamedProcess> processes;
  std::string grpc;          ///< host:port of the server that the agents dial
  int64_t devices_per_node = 0;
  std::string device_memory;
  bool ready = false;        ///< the server answers and every node has joined

  const NamedProcess* find(const std::string& name) const;
  /// RETURNS: whether that process still lives.
  bool lives(const std::string& name) const;
};

struct ServerAddress {
  int64_t pid = 0;
  std::string grpc;  ///< "127.0.0.1:7070"
  std::string http;
};

/// RETURNS: nothing if there is no file or it makes no sense, which is the same to the caller.
std::optional<UpRecord> read_up_record(const std::string& state_dir);
Done write_up_record(const std::string& state_dir, const UpRecord& record);
std::optional<ServerAddress> read_server_address(const std::string& state_dir);

/// RETURNS: 7070 of "127.0.0.1:7070", 0 if there is none.
int64_t port_of(const std::string& address);

}  // namespace keiko::up
