// keiko-train: the training runtime as a program. Connects the train room with the gloo driver.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "drivers/collective/gloo/gloo_collective.h"
#include "train/program/command.h"

extern char** environ;

namespace {

std::map<std::string, std::string> read_variables() {
  std::map<std::string, std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string entry = *at;
    const size_t equals = entry.find('=');
    if (equals != std::string::npos) variables[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return variables;
}

keiko::Result<std::unique_ptr<keiko::Collective>> open_collective(
    const keiko::train::RankEnvironment& environment) {
  keiko::GlooOptions options;
  options.rank = environment.rank;
  options.world = environment.world;
  options.master_addr = environment.master_addr;
  options.master_port = environment.master_port;
  options.name = environment.job + " attempt " + std::to_string(environment.attempt);
  return keiko::open_gloo_collective(options);
}

/// Every step asks for the same memory again. Given back to the kernel after each, it costs 6,000
/// page faults a step and a seventh of the time (docs/BENCH.md), so that it is kept: nothing is
/// mapped apart, nothing is trimmed. Who set glibc's own variables knows better.
void keep_memory() {
  for (const char* set : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_"})
    if (std::getenv(set) != nullptr) return;
  constexpr int kNever = std::numeric_limits<int>::max();
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, kNever);
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace

int main(int argc, char** argv) {
  keep_memory();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const int code = keiko::train::run_command(arguments, read_variables(), open_collective);
  // Everything durable is on disk; the destructors of libtorch's 280 libraries only cost time.
  std::fflush(nullptr);
  std::_Exit(code);
}
