// What `keiko up` was asked for.
#pragma once

#include <cstdint>
#include <string>

namespace keiko::up {

struct UpOptions {
  /// Where everything of this pool lives: journal, agents' folders, logs. Absolute.
  std::string state_dir;
  /// Clients of this user find the folder without being told; the banner then leaves it out.
  bool usual_state = false;
  /// Agents, each a node of its own named node1, node2, ...
  int64_t nodes = 1;
  /// Cpu slots of each node; 0: what the agent finds itself.
  int64_t devices_per_node = 0;
  /// Memory of each slot as the agent's flag takes it ("4GiB"); empty: an equal share.
  std::string device_memory;
  /// For agents and clients; 0: any free one.
  int64_t grpc_port = 7070;
  /// For JSON, events and metrics; 0: any free one.
  int64_t http_port = 7071;
  bool detach = false;  ///< into the background, once the pool is ready
  bool stop = false;    ///< stop the one that runs instead of starting one
};

}  // namespace keiko::up
