#include "sim/program.h"

#include "base/id.h"

namespace keiko::sim {

Result<Program> parse_program(const std::vector<std::string>& command) {
  Program program;
  if (command.empty() || command[0] != "sim") {
    return invalid_argument("a simulated program's command starts with 'sim'");
  }
  for (size_t i = 1; i < command.size(); ++i) {
    const size_t equals = command[i].find('=');
    const std::string key = command[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : command[i].substr(equals + 1);
    uint64_t number = 0;
    if (key == "run") {
      program.run = TRY(parse_duration(value));
    } else if (key == "checkpoint") {
      program.checkpoint = TRY(parse_duration(value));
    } else if (key == "fail_at") {
      program.fail_at = TRY(parse_duration(value));
    } else if (key == "exit" && parse_digits(value, number) && number < 256) {
      program.exit_code = static_cast<int32_t>(number);
    } else if (command[i] == "stubborn") {
      program.stubborn = true;
    } else if (command[i] == "cannot_start") {
      program.cannot_start = true;
    } else {
      return invalid_argument("'" + command[i] + "' is not a word of a simulated program; use "
                              "run= checkpoint= fail_at= exit= stubborn cannot_start");
    }
  }
  return program;
}

std::vector<std::string> command_of(const Program& program) {
  std::vector<std::string> command{"sim", "run=" + std::to_string(program.run.millis()) + "ms"};
  if (program.checkpoint.ns > 0) {
    command.push_back("checkpoint=" + std::to_string(program.checkpoint.millis()) + "ms");
  }
  if (program.fail_at.ns > 0) {
    command.push_back("fail_at=" + std::to_string(program.fail_at.millis()) + "ms");
  }
  if (program.exit_code != 0) command.push_back("exit=" + std::to_string(program.exit_code));
  if (program.stubborn) command.push_back("stubborn");
  if (program.cannot_start) command.push_back("cannot_start");
  return command;
}

}  // namespace keiko::sim
