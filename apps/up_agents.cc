// How the agents of a pool come up: those that still live from before are adopted if they are what
// we would start now, else stopped first, so that no node runs twice.
#include <algorithm>
#include <cstdio>

#include "base/id.h"
#include "up_grace.h"
#include "up_loop.h"
#include "wire/client.h"

namespace keiko::up {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
constexpr std::chrono::seconds kNodePatience{20};

std::vector<std::string> agent_argv(const UpOptions& options, const std::string& node,
                                    const std::string& server) {
  std::vector<std::string> argv = {own_program(), "agent", "--join", server, "--name", node,
                                   "--state", agent_dir(options.state_dir, node),
                                   "--address", "127.0.0.1"};
  if (options.devices_per_node > 0) {
    argv.insert(argv.end(), {"--devices", std::to_string(options.devices_per_node)});
  } else if (options.nodes > 1) {
    argv.insert(argv.end(), {"--devices", "cpu"});  // one GPU is not to be offered by several
  }
  if (!options.device_memory.empty()) {
    argv.insert(argv.end(), {"--device-memory", options.device_memory});
  }
  return argv;
}

size_t count_joined(const std::string& server) {
  v1::ListNodesRequest request;
  const auto answer = make_client({server, seconds(2), seconds(2)})->list_nodes(request);
  if (!answer.ok()) return 0;
  const auto& nodes = answer->nodes();
  return static_cast<size_t>(std::count_if(nodes.begin(), nodes.end(),
                                           [](const v1::Node& node) { return node.connected(); }));
}

}  // namespace

Done UpLoop::start_agents(const std::optional<UpRecord>& before) {
  const bool same = before && before->grpc == address_.grpc &&
                    before->devices_per_node == options_.devices_per_node &&
                    before->device_memory == options_.device_memory;
  for (int64_t i = 1; i <= options_.nodes; ++i) {
    const std::string name = "node" + std::to_string(i);
    Child& agent = children_.emplace_back(name, agent_argv(options_, name, address_.grpc),
                                          log_path(options_.state_dir, name));
    if (before && before->lives(name)) agent.adopt(before->find(name)->identity);
    if (agent.pidfd() >= 0 && !same) stop_children({&agent}, agent_patience(address_.grpc));
    if (agent.pidfd() < 0 || !agent.lives()) TRY(agent.start());
    TRY(save(false));
  }
  return done();
}

void UpLoop::wait_for_nodes() {
  const auto until = steady_clock::now() + kNodePatience;
  while (signals_ == 0 && count_joined(address_.grpc) < static_cast<size_t>(options_.nodes)) {
    if (steady_clock::now() > until) {
      std::printf("not every node has joined yet; see %s\n",
                  log_path(options_.state_dir, "node1").c_str());
      return;
    }
    revive();
    wait(milliseconds(30));
  }
}

// What an earlier pool had and this one has not: nodes beyond our number.
void UpLoop::retire_others(const UpRecord& before) {
  for (const NamedProcess& process : before.processes) {
    const std::string& name = process.name;
    uint64_t number = 0;
    if (!name.starts_with("node") || !parse_digits(name.substr(4), number)) continue;
    if (static_cast<int64_t>(number) <= options_.nodes || !before.lives(name)) continue;
    Child extra(name, {}, "");
    extra.adopt(process.identity);
    stop_children({&extra}, agent_patience(address_.grpc));
  }
}

}  // namespace keiko::up
