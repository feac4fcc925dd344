#include "drivers/substrate/process/visit/visit_keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "drivers/files/tree/pack.h"
#include "drivers/files/tree/record.h"
#include "drivers/files/tree/unpack.h"
#include "drivers/substrate/process/files.h"
#include "drivers/substrate/process/image/image_program.h"
#include "drivers/substrate/process/image/image_visit.h"
#include "drivers/substrate/process/proc.h"
#include "drivers/substrate/process/program.h"
#include "drivers/substrate/process/sweep.h"

namespace keiko {
namespace process {
namespace {

constexpr int kSameMomentMs = 200;

class VisitKeeper {
 public:
  int run();

 private:
  bool prepare();
  bool read_order();
  bool start();
  [[noreturn]] void become_command(int status);
  [[noreturn]] void copy_files();
  void read_status(int status);
  void turn(int timeout_ms);
  void take_control();
  void reap();
  void kill_all();
  void look_at_worker();
  bool fail(const std::string& why);
  int tell_end();

  Fd signals_;
  Fd worker_;               ///< pidfd of the worker's program
  VisitRecord order_;
  LaunchRecord launch_;
  RunningRecord running_;
  WorkerScope scope_;       ///< our own descendants alone, never the worker
  VisitEndRecord end_;
  std::pair<std::string, std::string> mark_;  ///< in the environment of all that is in an image
  pid_t command_ = 0;
  int wait_status_ = 0;
  bool ended_ = false;
  bool abandoned_ = false;  ///< the agent is gone, or wants no more of it
  bool childless_ = false;
  bool killed_by_client_ = false;
};

bool VisitKeeper::prepare() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "keiko-visit");
  for (int fd = kVisitControlFd; fd <= kVisitErrFd; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
  signals_ = Fd(signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
  scope_.tree_root = getpid();
  return signals_ || fail(std::string("cannot wait for signals: ") + std::strerror(errno));
}

bool VisitKeeper::fail(const std::string& why) {
  end_.failure = why;
  return false;
}

bool VisitKeeper::read_order() {
  std::string bytes(kVisitRecordBytes, '\0');
  const ssize_t got = recv(kVisitControlFd, bytes.data(), bytes.size(), 0);
  if (got <= 0) return fail("the agent gave no order");
  auto order = decode<VisitRecord>(std::string_view(bytes).substr(0, static_cast<size_t>(got)));
  if (!order.ok()) return fail("the agent's order cannot be read: " + order.error().message);
  order_ = std::move(*order);
  auto launch = read_record<LaunchRecord>(order_.folder + "/launch");
  auto running = read_record<RunningRecord>(order_.folder + "/running");
  if (!launch.ok() || !running.ok() || exists(order_.folder + "/end")) {
    end_.worker_ended = true;
    return false;
  }
  launch_ = std::move(*launch);
  running_ = std::move(*running);
  if (!launch_.image.empty()) {
    launch_.env = image_environment(launch_, running_.image_env);
    // What it leaves behind becomes a child of the container's first process, not ours.
    mark_ = {"KEIKO_VISIT", std::to_string(getpid()) + "-" +
                                std::to_string(identify(getpid()).start_ticks)};
    launch_.env.insert(mark_);
  }
  // The pidfd first: what is alive afterwards is what it stands for.
  worker_ = Fd(static_cast<int>(
      syscall(SYS_pidfd_open, static_cast<pid_t>(running_.program.pid), 0)));
  end_.worker_ended = !worker_ || !is_alive(running_.program);
  return !end_.worker_ended;
}

/// Packs or unpacks in this very process, as the worker's user and within its limits: the worker
/// needs no program for it.
void VisitKeeper::copy_files() {
  signal(SIGPIPE, SIG_IGN);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  const auto tell = [](const std::string& line) { write_all(STDERR_FILENO, line + "\n"); };
  Result<int64_t> left_out = 0;
  if (order_.copy_into) {
    left_out = tree::unpack({order_.copy_path, {}, {}}, STDIN_FILENO);
    if (!left_out.ok()) tell(left_out.error().message);
  } else {
    left_out = tree::pack({order_.copy_path, order_.copy_recursive, {}, tell}, STDOUT_FILENO);
  }
  if (left_out.ok()) _exit(0);
  _exit(left_out.error().code == Code::kNotFound ? tree::kMissingExit : tree::kFailedExit);
}

void VisitKeeper::become_command(int status) {
  const ProgramFds fds{kVisitOutFd, kVisitErrFd, status};
  const WorkerCgroup cgroup(running_.cgroups);
  if (launch_.image.empty()) hold_limits(launch_, cgroup, status);
  else enter_image(worker_.get(), launch_, cgroup, status);
  setsid();
  if (order_.terminal) ioctl(kVisitInFd, TIOCSCTTY, 0);
  dup2(kVisitInFd, STDIN_FILENO);
  take_place(launch_, fds);
  if (order_.copy) copy_files();
  for (const auto& [name, value] : order_.env) launch_.env[name] = value;
  launch_.argv = order_.argv;
  if (launch_.argv.empty()) {
    const auto shell = launch_.env.find("SHELL");
    const bool named = shell != launch_.env.end() && access(shell->second.c_str(), X_OK) == 0;
    launch_.argv = {named ? shell->second : "/bin/sh"};
  }
  run_program(launch_, fds);
}

bool VisitKeeper::start() {
  int status[2];
  if (pipe2(status, O_CLOEXEC) != 0) {
    return fail(std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  const Fd status_read(status[0]);
  Fd status_write(status[1]);
  command_ = fork();
  if (command_ == 0) become_command(status_write.get());
  if (command_ < 0) return fail(std::string("cannot fork: ") + std::strerror(errno));
  status_write.reset();
  for (int fd = kVisitInFd; fd <= kVisitErrFd; ++fd) close(fd);
  read_status(status_read.get());
  return true;
}

/// The pipe ends when the exec has succeeded, or the child has told why not.
void VisitKeeper::read_status(int status) {
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = read(status, buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0) text.append(buffer, static_cast<size_t>(got));
  }
  for (size_t at = 0; at < text.size();) {
    const size_t line_end = std::min(text.find('\n', at), text.size());
    if (text[at] == kStatusFailed) end_.failure = text.substr(at + 1, line_end - at - 1);
    at = line_end + 1;
  }
}

void VisitKeeper::reap() {
  while (true) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    childless_ = pid < 0 && errno == ECHILD;
    if (pid <= 0) return;
    if (pid != command_) continue;
    ended_ = true;
    wait_status_ = status;
  }
}

void VisitKeeper::take_control() {
  char text[16] = {};
  const ssize_t got = recv(kVisitControlFd, text, sizeof text - 1, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    abandoned_ = true;
    return;
  }
  const int number = std::atoi(text);
  killed_by_client_ = killed_by_client_ || number == SIGKILL;
  if (number > 0 && number < NSIG) signal_members(scope_, number);
}

void VisitKeeper::turn(int timeout_ms) {
  pollfd waits[3] = {{abandoned_ ? -1 : kVisitControlFd, POLLIN, 0},
                     {signals_.get(), POLLIN, 0},
                     {end_.worker_ended ? -1 : worker_.get(), POLLIN, 0}};
  if (poll(waits, 3, timeout_ms) < 0) return;
  if (waits[0].revents != 0) take_control();
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo == SIGTERM) abandoned_ = true;
  }
  // What both ends at once ended by itself.
  reap();
  if (waits[2].revents != 0 && !ended_) end_.worker_ended = true;
}

/// Whoever loses his parent becomes our child, so no children means that nothing is left.
void VisitKeeper::kill_all() {
  reap();
  for (int wait_ms = 1; !childless_; wait_ms = wait_ms < 100 ? wait_ms * 2 : 100) {
    signal_members(scope_, SIGKILL);
    turn(wait_ms);
  }
  if (mark_.first.empty() || end_.worker_ended) return;
  WorkerScope strays;
  strays.env_mark = mark_.first + "=" + mark_.second;
  strays.since_ticks = identify(getpid()).start_ticks;
  DyingProcesses dying;
  for (int tries = 0; tries < 50 && !kill_members(strays, 20, dying); ++tries) continue;
}

/// A worker that is killed is killed with its whole cgroup, in which the command is, too; which of
/// the two is gone first is chance, and what a person should hear is not.
void VisitKeeper::look_at_worker() {
  const bool killed = ended_ && WIFSIGNALED(wait_status_) && WTERMSIG(wait_status_) == SIGKILL;
  if (!killed || killed_by_client_ || end_.worker_ended) return;
  pollfd wait{worker_.get(), POLLIN, 0};
  end_.worker_ended = poll(&wait, 1, kSameMomentMs) == 1;
}

int VisitKeeper::tell_end() {
  if (ended_ && WIFSIGNALED(wait_status_)) end_.signal = WTERMSIG(wait_status_);
  if (ended_ && WIFEXITED(wait_status_)) end_.exit_code = WEXITSTATUS(wait_status_);
  const std::string bytes = kVisitEndMark + encode(end_);
  return send(kVisitControlFd, bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0 ? 0 : 1;
}

int VisitKeeper::run() {
  if (!prepare() || !read_order() || !start()) return tell_end();
  while (!ended_ && !abandoned_ && !end_.worker_ended) turn(-1);
  kill_all();
  look_at_worker();
  return tell_end();
}

}  // namespace
}  // namespace process

int visit_main() { return process::VisitKeeper().run(); }

}  // namespace keiko
