#include "up_command.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "cli/exit_code.h"
#include "up_loop.h"

namespace keiko::up {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
constexpr std::chrono::seconds kReadyPatience{90};

/// `text` as a word that a shell reads back.
std::string shell_word(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("/._-+:@%", c) != nullptr;
  });
  if (plain && !text.empty()) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void print_banner(const UpOptions& options, const ServerAddress& address, bool background) {
  const std::string state = options.usual_state ? "" : " --state " + shell_word(options.state_dir);
  std::printf("Keiko is up: %lld node%s on this machine, http://%s\n",
              static_cast<long long>(options.nodes), options.nodes == 1 ? "" : "s",
              address.http.c_str());
  std::printf("State and logs: %s\n\nTry%s:\n", options.state_dir.c_str(),
              background ? "" : " in another terminal");
  if (!state.empty())
    std::printf("  export KEIKO_STATE=%s\n", shell_word(options.state_dir).c_str());
  std::printf("  keiko run -- echo hello\n"
              "  keiko run --workers 2 -- sh -c 'echo rank $RANK of $WORLD_SIZE'\n"
              "  keiko nodes\n  keiko jobs\n\n");
  std::printf(background ? "Stop it with: keiko up --stop%s\n" : "Ctrl-C stops it.%.0s\n",
              state.c_str());
  std::fflush(stdout);
}

Done run_detached(const UpOptions& options) {
  TRY(make_folders(options));
  TRY(FolderLock().take(options.state_dir));  // before anything of a pool that runs is touched
  const std::string log = log_path(options.state_dir, "up");
  std::vector<std::string> argv = {
      own_program(), "up", "--state", options.state_dir, "--nodes", std::to_string(options.nodes),
      "--devices-per-node", std::to_string(options.devices_per_node),
      "--grpc-port", std::to_string(options.grpc_port),
      "--http-port", std::to_string(options.http_port)};
  if (!options.device_memory.empty()) {
    argv.insert(argv.end(), {"--device-memory", options.device_memory});
  }
  std::remove(log.c_str());  // what is in it is about this start
  const process::ProcessIdentity supervisor = TRY(start_process(argv, {}, log));
  for (const auto until = steady_clock::now() + kReadyPatience; steady_clock::now() < until;) {
    const auto record = read_up_record(options.state_dir);
    const NamedProcess* ours = record ? record->find("supervisor") : nullptr;
    const auto address = read_server_address(options.state_dir);
    if (ours != nullptr && ours->identity.pid == supervisor.pid && record->ready && address) {
      print_banner(options, *address, true);
      return done();
    }
    if (!process::is_alive(supervisor)) {
      // What it refused will be refused the next time too, so scripts are not told to try again.
      const bool refused =
          reap_process(supervisor) == "with exit code " + std::to_string(cli::kExitRefused);
      return Error{refused ? Code::kFailedPrecondition : Code::kUnavailable,
                   "the pool did not start:" + last_lines(log, 12), {}};
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
  return deadline_exceeded("the pool is not ready after 90 s; see " + log);
}

}  // namespace

Done run_up(const UpOptions& options) {
  if (options.stop) return stop_pool(options);
  if (options.detach) return run_detached(options);
  UpLoop loop(options);
  return loop.run([&](const ServerAddress& address) { print_banner(options, address, false); });
}

}  // namespace keiko::up
