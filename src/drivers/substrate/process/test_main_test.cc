// The test program is its own shim and its own odd workers: `PROGRAM shim FOLDER` and
// `PROGRAM act NAME`. This main() takes the place of gtest's.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "drivers/substrate/process/shim.h"
#include "drivers/substrate/process/visit/visit_keeper.h"

namespace {

[[noreturn]] void sleep_for_ever() {
  while (true) pause();
}

/// Forks twice with a session of its own in between, as daemons do, and closes all streams.
int leave_a_daemon(const std::string& pid_file) {
  if (fork() != 0) return 0;
  setsid();
  if (fork() != 0) _exit(0);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  for (int fd = 0; fd < 3; ++fd) close(fd);
  FILE* const file = std::fopen((pid_file + ".tmp").c_str(), "w");
  std::fprintf(file, "%d\n", static_cast<int>(getpid()));
  std::fclose(file);
  std::rename((pid_file + ".tmp").c_str(), pid_file.c_str());
  sleep_for_ever();
}

int fill_log(long bytes) {
  const std::string line = std::string(99, 'x') + "\n";
  for (long put = 0; put < bytes; put += 100) std::fwrite(line.data(), 1, line.size(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

/// Every process forks two more until memory for them runs out: what a fork bomb does, bounded.
int fork_tree(int depth) {
  for (int i = 0; i < 2; ++i) {
    if (fork() == 0) {
      if (depth > 1) fork_tree(depth - 1);
      setsid();
      signal(SIGTERM, SIG_IGN);
      sleep_for_ever();
    }
  }
  return 0;
}

int act(const std::string& name, const std::string& argument) {
  if (name == "daemon") return leave_a_daemon(argument);
  if (name == "fill") return fill_log(std::atol(argument.c_str()));
  if (name == "tree") return fork_tree(std::atoi(argument.c_str()));
  return 99;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "visit") return keiko::visit_main();
  if (verb == "shim" && argc > 2) return keiko::shim_main(argv[2]);
  if (verb == "act" && argc > 2) return act(argv[2], argc > 3 ? argv[3] : "");
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
