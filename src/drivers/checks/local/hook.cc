#include "drivers/checks/local/hook.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "drivers/checks/local/program_run.h"

namespace keiko::checks {
namespace {

constexpr size_t kMostEvidence = 512;

std::string first_line(const std::string& text) {
  for (const std::string& line : split(text, '\n')) {
    const std::string_view words = trim(line);
    if (!words.empty()) return std::string(words.substr(0, kMostEvidence));
  }
  return {};
}

HookEnd end_of(int status, const std::string& evidence) {
  const std::string said = evidence.empty() ? "it said nothing" : evidence;
  if (!WIFEXITED(status)) {
    return {CheckVerdict::kUnknown, "it died of signal " + std::to_string(WTERMSIG(status)) +
                                        "; " + said};
  }
  const int code = WEXITSTATUS(status);
  if (code >= 0 && code <= 2) return {static_cast<CheckVerdict>(code), said};
  return {CheckVerdict::kUnknown, "it ended with " + std::to_string(code) +
                                      ", which is none of 0, 1 and 2; " + said};
}

std::string fault_of(const struct stat& file) {
  const bool trusted = file.st_uid == 0 || file.st_uid == geteuid();
  if (!trusted) return "not run: it belongs to user " + std::to_string(file.st_uid) +
                       ", not to root or the agent's";
  if ((file.st_mode & S_IWOTH) != 0) return "not run: anybody may write to it; chmod o-w";
  return {};
}

}  // namespace

std::vector<Hook> find_hooks(const std::string& folder) {
  std::vector<Hook> hooks;
  DIR* const open = opendir(folder.c_str());
  if (open == nullptr) return hooks;
  while (const dirent* const entry = readdir(open)) {
    const std::string name = entry->d_name;
    if (name.empty() || name.front() == '.' || name.back() == '~') continue;
    const std::string path = folder + "/" + name;
    struct stat file {};
    if (stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) continue;
    if (access(path.c_str(), X_OK) != 0) continue;
    hooks.push_back({name, path, fault_of(file), name.starts_with("node-")});
  }
  closedir(open);
  std::sort(hooks.begin(), hooks.end(),
            [](const Hook& a, const Hook& b) { return a.name < b.name; });
  return hooks;
}

HookEnd run_hook(const Hook& hook, const HookRun& run, const std::stop_token& stop) {
  if (!hook.fault.empty()) return {CheckVerdict::kUnknown, hook.fault};
  if (stop.stop_requested()) return {CheckVerdict::kUnknown, "not begun"};
  ProgramRun program;
  program.words = {hook.path};
  program.limit = run.limit;
  program.folder = "/";
  program.environment = run.environment;
  const Result<ProgramEnd> end = run_program(program, stop);
  if (!end.ok()) return {CheckVerdict::kUnknown, end.error().message};
  switch (end->how) {
    case ProgramEnd::How::kLate:
      return {CheckVerdict::kUnknown, "killed: it did not end within " + to_text(run.limit)};
    case ProgramEnd::How::kStopped: return {CheckVerdict::kUnknown, "broken off"};
    case ProgramEnd::How::kEnded: break;
  }
  return end_of(end->status, first_line(end->output));
}

}  // namespace keiko::checks
