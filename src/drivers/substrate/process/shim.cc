#include "drivers/substrate/process/shim.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

#include "base/text.h"
#include "drivers/substrate/process/image/image_program.h"
#include "drivers/substrate/process/lease_file.h"
#include "drivers/substrate/process/log_pump.h"
#include "drivers/substrate/process/proc.h"
#include "drivers/substrate/process/program.h"
#include "drivers/substrate/process/sweep.h"

namespace keiko {
namespace process {
namespace {

constexpr int64_t kLastWordsBytes = 2048;
constexpr int64_t kEndRecordBytes = 4096;  // last words and all the rest

Duration to_duration(const timeval& time) {
  return {time.tv_sec * 1'000'000'000 + time.tv_usec * 1'000};
}

/// The end of a log as a person wants to read it: whole lines, no trailing blanks.
std::string last_words(const std::string& path) {
  std::string tail = read_tail(path, kLastWordsBytes);
  const size_t newline = tail.find('\n');
  const bool cut = static_cast<int64_t>(tail.size()) == kLastWordsBytes;
  if (cut && newline != std::string::npos && newline + 1 < tail.size()) tail.erase(0, newline + 1);
  return std::string(trim(tail));
}

/// RETURNS: how the program in an image ended, or its first process if that was killed with it.
int end_told_by_init(const Fd& pipe, int status) {
  char text[16] = {};
  const bool told = read(pipe.get(), text, sizeof text - 1) > 0;
  return told ? std::atoi(text) : status;
}

class Shim {
 public:
  explicit Shim(std::string folder) : folder_(std::move(folder)) {}
  int run();

 private:
  bool take_lock();
  bool prepare();
  bool start_program();
  void serve();
  void wait_for_start();
  void on_signals();
  void on_status();
  void read_status_lines();
  void adopt_image_init();
  void reap();
  void pass_on(int signal);
  void turn(int timeout_ms);
  int until_lease_ms() const;
  void guard_lease();
  void kill_what_is_left();
  void record_running();
  int record_end();
  WorkerEnd end_of_program() const;
  bool fail_start(const std::string& why);

  std::string folder_;
  LaunchRecord launch_;
  std::vector<CgroupTree> trees_;
  WorkerScope scope_;
  std::vector<std::string> notes_;
  std::optional<FolderLock> lock_;
  Fd signals_;
  Fd status_;              ///< open until the exec succeeded or failed
  std::string status_text_;
  Fd image_end_;           ///< by which the first process of an image tells the program's end
  std::map<std::string, std::string> image_env_;
  pid_t image_init_ = 0;   ///< that process, once there is one
  std::string failure_;    ///< why the program could not be started
  bool node_failed_ = false;  ///< ... through no fault of its own
  std::vector<LogPump> pumps_;
  pid_t program_ = 0;
  bool program_ended_ = false;
  bool lease_ended_ = false;
  bool childless_ = false;
  int wait_status_ = 0;
  Duration started_;
  Duration ended_;
};

/// An agent that found the lock free has recorded the end, so a shim that comes late does nothing.
bool Shim::take_lock() {
  lock_.emplace(folder_, kFolderLockFd);
  if (!lock_->is_mine() || exists(folder_ + "/end")) return false;
  return lock_->write(encode(identify(getpid())));
}

bool Shim::prepare() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  if (getsid(0) != getpid()) setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "keiko-shim");
  // First what was inherited, while its numbers still mean that.
  fcntl(kPortLockFd, F_SETFD, FD_CLOEXEC);
  if (!take_lock()) return false;
  signals_ = Fd(signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return false;
  auto launch = read_record<LaunchRecord>(folder_ + "/launch");
  if (!launch.ok()) {
    fail_start("the agent's order to start it cannot be read: " + launch.error().message);
    record_end();
    return false;
  }
  launch_ = std::move(*launch);
  return chdir("/") == 0;
}

bool Shim::start_program() {
  trees_ = find_cgroup_trees(launch_.cgroup_root, read_file("/proc/self/cgroup").value_or(""));
  scope_.cgroup = WorkerCgroup(
      trees_, launch_.cgroup_name,
      {launch_.memory, launch_.cpu_milli, launch_.cpu_ceiling, launch_.cpus, launch_.pids,
       parse_device_rules(join(launch_.device_rules, "\n"))});
  scope_.tree_root = getpid();
  notes_ = scope_.cgroup.notes();

  pumps_.emplace_back(launch_.out, launch_.log_limit);
  pumps_.emplace_back(launch_.err, launch_.log_limit);
  auto out = pumps_[0].open();
  auto err = pumps_[1].open();
  int status[2];
  int end[2];
  if (!out.ok() || !err.ok()) {
    return fail_start(out.ok() ? err.error().message : out.error().message);
  }
  if (pipe2(status, O_CLOEXEC) != 0 || pipe2(end, O_CLOEXEC | O_NONBLOCK) != 0) {
    return fail_start(std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  status_ = Fd(status[0]);
  image_end_ = Fd(end[0]);
  const Fd status_write(status[1]);
  const Fd end_write(end[1]);
  started_ = monotonic_now();
  program_ = fork();
  if (program_ == 0) {
    const ProgramFds fds{out->get(), err->get(), status_write.get()};
    if (!launch_.image.empty()) {
      become_image_helper(launch_, scope_.cgroup, fds, end_write.get());
    }
    become_program(launch_, scope_.cgroup, fds);
  }
  return program_ > 0 || fail_start(std::string("cannot fork: ") + std::strerror(errno));
}

/// The status pipe ends when the exec has succeeded, or the child has told why not.
void Shim::on_status() {
  char buffer[4096];
  const ssize_t got = read(status_.get(), buffer, sizeof buffer);
  if (got > 0) {
    status_text_.append(buffer, static_cast<size_t>(got));
    read_status_lines();
    return;
  }
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  status_.reset();
  if (!launch_.image.empty()) adopt_image_init();
  if (failure_.empty() && !program_ended_) record_running();
}

void Shim::read_status_lines() {
  size_t line_end = 0;
  while ((line_end = status_text_.find('\n')) != std::string::npos) {
    const std::string line = status_text_.substr(0, line_end);
    status_text_.erase(0, line_end + 1);
    if (line.empty()) continue;
    if (line[0] == kStatusFailed) failure_ = line.substr(1);
    if (line[0] == kStatusNodeFailed) node_failed_ = true;
    if (line[0] == kStatusNote) notes_.push_back(line.substr(1));
    const size_t equals = line.find('=');
    if (line[0] == kStatusEnv && equals != std::string::npos) {
      image_env_[line.substr(1, equals - 1)] = line.substr(equals + 1);
    }
    if (line[0] == kStatusPid) image_init_ = std::atoi(line.c_str() + 1);
  }
}

/// The helper has ended. What it started is the program from now on, or else it was the helper.
void Shim::adopt_image_init() {
  int status = 0;
  while (waitpid(program_, &status, 0) < 0 && errno == EINTR) continue;
  if (failure_.empty() && image_init_ > 0) {
    program_ = image_init_;
    started_ = monotonic_now();
    return;
  }
  if (failure_.empty() && !WIFSIGNALED(status)) failure_ = "the start of its image was cut short";
  program_ended_ = true;
  wait_status_ = status;
  ended_ = monotonic_now();
}

void Shim::record_running() {
  RunningRecord record;
  record.shim = identify(getpid());
  record.program = identify(program_);
  record.cgroups = scope_.cgroup.folders();
  record.notes = notes_;
  record.image_env = image_env_;
  const Done written = write_record(folder_ + "/running", record, false);
  if (!written.ok()) std::fprintf(stderr, "%s\n", written.error().text().c_str());
}

void Shim::reap() {
  while (true) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid < 0) childless_ = errno == ECHILD;
    if (pid <= 0) return;
    if (pid != program_ || program_ended_) continue;
    program_ended_ = true;
    wait_status_ = status;
    ended_ = monotonic_now();
    if (image_init_ != 0) wait_status_ = end_told_by_init(image_end_, status);
  }
}

void Shim::pass_on(int signal) {
  if (signal <= 0 || signal >= NSIG) return;
  // While an image is made ready there is no program yet, only the helper to be stopped.
  if (status_) kill(program_, signal);
  else signal_members(scope_, signal);
}

void Shim::on_signals() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const auto number = static_cast<int>(info.ssi_signo);
    if (number == request_signal()) {
      pass_on(info.ssi_int);
    } else if (number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT) {
      // Somebody means the worker: an operator's kill, or a machine that shuts down.
      pass_on(number);
    }
  }
}

void Shim::turn(int timeout_ms) {
  pollfd waits[3] = {
      {pumps_[0].fd(), POLLIN, 0}, {pumps_[1].fd(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
  if (poll(waits, 3, timeout_ms) < 0) return;
  for (size_t i = 0; i < pumps_.size(); ++i) {
    if (waits[i].revents != 0) pumps_[i].pump();
  }
  // Signals first: a child that dies after its SIGCHLD was read is then reaped all the same.
  if (waits[2].revents != 0) on_signals();
  reap();
}

/// Signals stay queued until the exec is over: before it the child is still a copy of the shim and
/// would lose them. SIGKILL does not wait: the agent sends that one to the tree as well. An image
/// may take minutes to be unpacked, and until its first process is there they go to the helper.
void Shim::wait_for_start() {
  const bool unpacks = !launch_.image.empty() && image_init_ == 0;
  pollfd waits[2] = {{status_.get(), POLLIN, 0}, {unpacks ? signals_.get() : -1, POLLIN, 0}};
  const int ready = poll(waits, 2, launch_.image.empty() ? -1 : until_lease_ms());
  if (ready > 0 && waits[0].revents != 0) on_status();
  if (ready > 0 && waits[1].revents != 0) on_signals();
  if (!launch_.image.empty()) guard_lease();
}

void Shim::serve() {
  while (status_) wait_for_start();
  // Only now: a move between cgroups takes a millisecond, and the program is on its way without it.
  leave_agent_cgroup(trees_);
  // A worker that fills the disk must not lose its own end by that.
  set_aside(folder_ + "/end", kEndRecordBytes);
  while (!program_ended_) {
    turn(until_lease_ms());
    guard_lease();
  }
}

/// Sleeps until the lease could end as it stands; a renewal is read when that time has come.
int Shim::until_lease_ms() const {
  const auto lease = read_lease(launch_.lease);
  if (!lease) return -1;
  return static_cast<int>(std::clamp<int64_t>(lease->kill_in.millis() + 1, 1, 3'600'000));
}

/// The agent kills its workers itself while it lives; this is for the one that does not.
void Shim::guard_lease() {
  const auto lease = read_lease(launch_.lease);
  if (!lease || lease->kill_in > Duration{} || program_ended_) return;
  lease_ended_ = true;
  signal_members(scope_, SIGKILL);
}

/// Nobody escapes: whoever loses his parent becomes our child, so no children means nothing left.
void Shim::kill_what_is_left() {
  reap();
  for (int wait_ms = 1; true; wait_ms = wait_ms < 100 ? wait_ms * 2 : 100) {
    if (childless_ && scope_.cgroup.members().empty()) return;
    signal_members(scope_, SIGKILL);
    turn(wait_ms);
    reap();
  }
}

WorkerEnd Shim::end_of_program() const {
  WorkerEnd end;
  if (!failure_.empty()) {
    end.cause = node_failed_ ? EndCause::kNodeFailed : EndCause::kStartFailed;
    end.last_words = failure_;
    return end;
  }
  end.ran = ended_ - started_;
  if (WIFSIGNALED(wait_status_)) {
    end.cause = EndCause::kSignalled;
    end.signal = WTERMSIG(wait_status_);
  } else {
    end.cause = EndCause::kExited;
    end.exit_code = WEXITSTATUS(wait_status_);
  }
  if (lease_ended_ && end.signal == SIGKILL) end.cause = EndCause::kLeaseEnded;
  // A launcher whose child was killed for memory exits with a code of its own.
  const bool by_kernel = end.signal == SIGKILL || end.exit_code != 0;
  if (by_kernel && !lease_ended_ && scope_.cgroup.oom_kills() > 0)
    end.cause = EndCause::kOutOfMemory;
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  end.user_cpu = to_duration(usage.ru_utime);
  end.max_rss = kibibytes(usage.ru_maxrss);
  if (end.signal != 0 || end.exit_code != 0) end.last_words = last_words(launch_.err);
  for (const LogPump& pump : pumps_) {
    if (!pump.lost().empty()) end.last_words += (end.last_words.empty() ? "" : "\n") + pump.lost();
  }
  return end;
}

int Shim::record_end() {
  EndRecord record;
  record.end = end_of_program();
  record.program_pid = failure_.empty() ? program_ : 0;
  record.notes = notes_;
  scope_.cgroup.remove();
  if (!launch_.image.empty()) remove_runtime_groups(launch_);
  // The last thing: whoever reads it may rely on all devices being free.
  const Done written = write_record(folder_ + "/end", record, true);
  if (written.ok()) return 0;
  std::fprintf(stderr, "%s\n", written.error().text().c_str());
  return 1;
}

/// RETURNS: false, so that a caller can hand it on.
bool Shim::fail_start(const std::string& why) {
  failure_ = why;
  node_failed_ = true;
  return false;
}

int Shim::run() {
  if (!prepare()) return 1;
  if (!start_program()) return record_end();
  serve();
  kill_what_is_left();
  for (LogPump& pump : pumps_) pump.drain();
  return record_end();
}

}  // namespace
}  // namespace process

int shim_main(const std::string& folder) { return process::Shim(folder).run(); }

}  // namespace keiko
