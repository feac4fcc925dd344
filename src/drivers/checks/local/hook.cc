#include "drivers/checks/local/hook.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "base/text.h"
#include "drivers/substrate/process/spawn_plan.h"

namespace keiko::checks {
namespace {

using process::Fd;
using process::SpawnPlan;
using SteadyClock = std::chrono::steady_clock;

constexpr size_t kMostEvidence = 512;
constexpr int kPollMs = 20;

/// A child with its output; whoever forgets it kills it.
class Child {
 public:
  Child(pid_t pid, Fd out) : pid_(pid), out_(std::move(out)) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (!status_) end();
  }

  /// Takes what it printed so far, waiting a moment for more.
  void read_some() {
    if (!out_) {
      poll(nullptr, 0, kPollMs);
      return;
    }
    pollfd waiting{out_.get(), POLLIN, 0};
    if (poll(&waiting, 1, kPollMs) <= 0) return;
    char bytes[4096];
    const ssize_t got = read(out_.get(), bytes, sizeof bytes);
    if (got > 0 && text_.size() < kMostEvidence * 8) {
      text_.append(bytes, static_cast<size_t>(got));
    }
    if (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN))) return;
    out_.reset();
  }

  /// Has the program itself ended? It stays a zombie, so that its group's number is nobody else's.
  bool has_ended() const {
    siginfo_t seen{};
    const int found = waitid(P_PID, static_cast<id_t>(pid_), &seen, WEXITED | WNOHANG | WNOWAIT);
    return found != 0 || seen.si_pid == pid_;
  }

  /// Kills all of its group. RETURNS: how the program ended, as wait(2) has it.
  int end() {
    kill(-pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    status_ = status;
    return status;
  }

  const std::string& text() const { return text_; }

 private:
  const pid_t pid_;
  Fd out_;
  std::string text_;
  std::optional<int> status_;
};

std::string first_line(const std::string& text) {
  for (const std::string& line : split(text, '\n')) {
    const std::string_view words = trim(line);
    if (!words.empty()) return std::string(words.substr(0, kMostEvidence));
  }
  return {};
}

/// RETURNS: the pid; `out` is the reading end of its output.
Result<pid_t> spawn(const Hook& hook, const HookRun& run, Fd& out) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno_error("cannot make a pipe", errno);
  out.reset(ends[0]);
  const Fd theirs(ends[1]);
  SpawnPlan plan(SpawnPlan::Group::kProcessGroup, SpawnPlan::Signals::kOpen);
  posix_spawn_file_actions_addopen(plan.actions(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(plan.actions(), theirs.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(plan.actions(), theirs.get(), STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(plan.actions(), STDERR_FILENO + 1);
  posix_spawn_file_actions_addchdir_np(plan.actions(), "/");
  std::vector<std::string> words;
  for (const auto& [name, value] : run.environment) words.push_back(name + "=" + value);
  std::vector<char*> environment;
  for (std::string& word : words) environment.push_back(word.data());
  environment.push_back(nullptr);
  pid_t pid = 0;
  const int error = plan.start({hook.path}, environment.data(), pid);
  if (error != 0) return errno_error("cannot run " + hook.path, error);
  return pid;
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
  Fd out;
  const Result<pid_t> pid = spawn(hook, run, out);
  if (!pid.ok()) return {CheckVerdict::kUnknown, pid.error().message};
  Child child(*pid, std::move(out));
  const auto until = SteadyClock::now() + std::chrono::nanoseconds(run.limit.ns);
  while (!child.has_ended()) {
    child.read_some();
    const bool late = SteadyClock::now() >= until;
    if (!late && !stop.stop_requested()) continue;
    child.end();
    return {CheckVerdict::kUnknown, late ? "killed: it did not end within " + to_text(run.limit)
                                         : "broken off"};
  }
  const int status = child.end();
  child.read_some();  // what it said last; its group is dead, so nothing follows
  return end_of(status, first_line(child.text()));
}

}  // namespace keiko::checks
