#include "node_place.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/place/place_file.h"
#include "drivers/checks/local/program_run.h"

namespace keiko::apps {
namespace {

constexpr Duration kPatience = seconds(10);
constexpr size_t kMostOutput = 64 * 1024;

Result<std::string> output_of(const std::string& program, const std::string& node) {
  checks::ProgramRun run;
  run.words = {program, node};
  run.limit = kPatience;
  run.most_output = kMostOutput;
  run.joins_errors = false;
  const checks::ProgramEnd end = TRY(checks::run_program(run, {}));
  if (end.how != checks::ProgramEnd::How::kEnded) {
    return deadline_exceeded(program + " has not ended after 10 s");
  }
  if (end.was_cut) return resource_exhausted(program + " prints without end");
  const bool exited = WIFEXITED(end.status);
  if (exited && WEXITSTATUS(end.status) == 0) return end.output;
  return failed_precondition(
      program + " " + node + " failed: " + (exited ? "exit code " : "signal ") +
      std::to_string(exited ? WEXITSTATUS(end.status) : WTERMSIG(end.status)));
}

Result<std::map<std::string, std::string>> ask_program(const std::string& program,
                                                       const std::string& node) {
  const std::string text = TRY(output_of(program, node));
  std::map<std::string, std::string> labels;
  for (const std::string& line : split(text, '\n')) {
    if (line.empty()) continue;
    if (!add_label(line, labels)) {
      return invalid_argument(program + " printed " + quote_text(line) +
                              ", which is not KEY=VALUE, as in rack=r7");
    }
  }
  return labels;
}

}  // namespace

bool add_label(const std::string& text, std::map<std::string, std::string>& labels) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) return false;
  labels[text.substr(0, equals)] = text.substr(equals + 1);
  return true;
}

Result<std::map<std::string, std::string>> labels_of_place(const std::string& source,
                                                           const std::string& node) {
  if (access(source.c_str(), X_OK) == 0) return ask_program(source, node);
  return cli::load_place_file(source, node);
}

}  // namespace keiko::apps
