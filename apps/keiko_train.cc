// keiko-train: the training runtime as a program. Connects the train room with the gloo driver.
#include <cstdio>
#include <cstdlib>
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

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const int code = keiko::train::run_command(arguments, read_variables(), open_collective);
  // Everything durable is on disk; the destructors of libtorch's 280 libraries only cost time.
  std::fflush(nullptr);
  std::_Exit(code);
}
