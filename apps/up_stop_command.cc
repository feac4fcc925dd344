// `keiko up --stop`: the supervisor stops the rest; if it was killed, we stop them in its place.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "up_command.h"
#include "up_grace.h"
#include "up_process.h"
#include "up_record.h"

namespace keiko::up {
namespace {

using std::chrono::steady_clock;
constexpr std::chrono::seconds kOverhead{40};
constexpr std::chrono::seconds kQuiet{2};

/// Asks them to stop and waits for it. Says what it waits for if that takes a while.
Done stop_processes(const std::vector<NamedProcess>& processes, Duration grace) {
  for (const NamedProcess& process : processes) {
    const Done asked = signal_process(process.identity, SIGTERM);
    if (asked.ok()) continue;
    return Error{asked.error().code,
                 "cannot stop the pool's " + process.name + ": " + asked.error().message +
                     "; whoever ran `keiko up` can, or root",
                 {}};
  }
  const auto asked = steady_clock::now();
  const auto until = asked + std::chrono::nanoseconds(grace.ns) + kOverhead;
  bool told = false;
  for (const NamedProcess& process : processes) {
    while (process::is_alive(process.identity)) {
      if (!told && steady_clock::now() > asked + kQuiet) {
        std::fprintf(stderr,
                     "waiting for programs that got SIGTERM; SIGKILL follows %s after it\n",
                     to_text(grace).c_str());
        told = true;
      }
      if (steady_clock::now() > until) {
        return deadline_exceeded(process.name + " (pid " + std::to_string(process.identity.pid) +
                                 ") has not stopped yet");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  return done();
}

}  // namespace

Done stop_pool(const UpOptions& options) {
  const auto record = read_up_record(options.state_dir);
  const auto address = read_server_address(options.state_dir);
  std::vector<NamedProcess> server;
  std::vector<NamedProcess> agents;
  const Duration grace = longest_grace(address ? address->grpc : std::string());
  for (const NamedProcess& process : record.value_or(UpRecord()).processes) {
    if (!process::is_alive(process.identity)) continue;
    if (process.name == "supervisor") return stop_processes({process}, grace);
    (process.name == "server" ? server : agents).push_back(process);
  }
  if (server.empty() && agents.empty()) {
    return not_found("no `keiko up` runs on " + options.state_dir);
  }
  TRY(stop_processes(agents, grace));  // in the order of up_stop.cc, for its reason
  return stop_processes(server, grace);
}

}  // namespace keiko::up
