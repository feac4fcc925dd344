#include "drivers/checks/local/program_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>
#include <utility>

#include "drivers/substrate/process/spawn_plan.h"

namespace keiko::checks {
namespace {

using process::Fd;
using process::SpawnPlan;
using SteadyClock = std::chrono::steady_clock;

constexpr int kPollMs = 20;

/// A child with its output; whoever forgets it kills it.
class Child {
 public:
  Child(pid_t pid, Fd out, size_t most) : pid_(pid), out_(std::move(out)), most_(most) {}
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
    if (got > 0) keep({bytes, static_cast<size_t>(got)});
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

  /// Takes what is in the pipe now. Who left the group may still hold it, and is not waited for.
  void read_rest() {
    pollfd ready{out_.get(), POLLIN, 0};
    while (out_ && !was_cut_ && poll(&ready, 1, 0) > 0) read_some();
  }

  const std::string& text() const { return text_; }
  bool was_cut() const { return was_cut_; }

 private:
  void keep(std::string_view piece) {
    const size_t room = most_ - text_.size();
    was_cut_ = was_cut_ || piece.size() > room;
    text_.append(piece.substr(0, room));
  }

  const pid_t pid_;
  Fd out_;
  const size_t most_;
  bool was_cut_ = false;
  std::string text_;
  std::optional<int> status_;
};

/// RETURNS: the pid; `out` is the reading end of its output.
Result<pid_t> spawn(const ProgramRun& run, Fd& out) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno_error("cannot make a pipe", errno);
  out.reset(ends[0]);
  const Fd theirs(ends[1]);
  SpawnPlan plan(SpawnPlan::Group::kProcessGroup, SpawnPlan::Signals::kOpen);
  posix_spawn_file_actions_addopen(plan.actions(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(plan.actions(), theirs.get(), STDOUT_FILENO);
  if (run.joins_errors) {
    posix_spawn_file_actions_adddup2(plan.actions(), theirs.get(), STDERR_FILENO);
  }
  posix_spawn_file_actions_addclosefrom_np(plan.actions(), STDERR_FILENO + 1);
  if (!run.folder.empty()) {
    posix_spawn_file_actions_addchdir_np(plan.actions(), run.folder.c_str());
  }
  std::vector<std::string> words;
  std::vector<char*> environment;
  if (run.environment) {
    for (const auto& [name, value] : *run.environment) words.push_back(name + "=" + value);
    for (std::string& word : words) environment.push_back(word.data());
    environment.push_back(nullptr);
  }
  pid_t pid = 0;
  const int error = plan.start(run.words, run.environment ? environment.data() : environ, pid);
  if (error != 0) return errno_error("cannot run " + run.words[0], error);
  return pid;
}

}  // namespace

Result<ProgramEnd> run_program(const ProgramRun& run, const std::stop_token& stop) {
  Fd out;
  const pid_t pid = TRY(spawn(run, out));
  Child child(pid, std::move(out), run.most_output);
  const auto until = SteadyClock::now() + std::chrono::nanoseconds(run.limit.ns);
  ProgramEnd end;
  while (!child.has_ended()) {
    child.read_some();
    const bool late = SteadyClock::now() >= until;
    if (!late && !stop.stop_requested()) continue;
    end.how = late ? ProgramEnd::How::kLate : ProgramEnd::How::kStopped;
    break;
  }
  end.status = child.end();
  if (end.how == ProgramEnd::How::kEnded) child.read_rest();
  end.output = child.text();
  end.was_cut = child.was_cut();
  return end;
}

}  // namespace keiko::checks
