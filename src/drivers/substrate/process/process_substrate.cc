#include "drivers/substrate/process/process_substrate.h"

#include <dirent.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "base/log.h"
#include "drivers/substrate/process/image/image_runtime.h"
#include "drivers/substrate/process/proc.h"
#include "drivers/substrate/process/shim.h"
#include "drivers/substrate/process/spawn.h"

namespace keiko {

using process::exists;
using process::Fd;
using process::read_file;
using process::read_record;
using process::write_record;

namespace {

std::string lease_path(const std::string& state_dir) { return state_dir + "/worker_lease"; }

uint64_t make_seed(const std::string& state_dir) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return digest_of(state_dir + " " + std::to_string(getpid()) + " " + std::to_string(now.tv_nsec))
      .bits;
}

void remove_folder(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

Result<std::unique_ptr<ProcessSubstrate>> ProcessSubstrate::open(ProcessSubstrateOptions options) {
  if (options.state_dir.empty() || options.state_dir[0] != '/') {
    return invalid_argument("the state directory '" + options.state_dir +
                            "' must be an absolute path: shims outlive the agent's directory");
  }
  if (options.image_init.empty()) options.image_init = process::image_init_beside_program();
  if (options.port_dir.empty()) {
    options.port_dir = "/tmp/keiko-ports-" + std::to_string(getuid());
  }
  std::unique_ptr<ProcessSubstrate> substrate(new ProcessSubstrate(std::move(options)));
  TRY(substrate->prepare());
  return substrate;
}

Done ProcessSubstrate::prepare() {
  const std::string folder = options_.state_dir + "/workers";
  TRY(process::make_folders(folder));
  wake_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  if (!wake_) return errno_error("cannot make an epoll descriptor", errno);
  inotify_ = Fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify_) {
    return errno_error("cannot watch " + folder + "; raise fs.inotify.max_user_instances", errno);
  }
  epoll_event event{.events = EPOLLIN, .data = {.fd = inotify_.get()}};
  epoll_ctl(wake_.get(), EPOLL_CTL_ADD, inotify_.get(), &event);
  port_seed_ = make_seed(options_.state_dir);
  find_isolation();

  DIR* const open_folder = opendir(folder.c_str());
  if (open_folder == nullptr) return errno_error("cannot list " + folder, errno);
  while (const dirent* const entry = readdir(open_folder)) {
    const auto key = parse_worker_key(entry->d_name);
    if (key.ok()) adopt(*key);
  }
  closedir(open_folder);
  return done();
}

void ProcessSubstrate::adopt(const WorkerKey& key) {
  Worker& worker = workers_[key];
  worker.state.key = key;
  worker.paths = worker_paths(options_.state_dir, key);
  // Watched before it is read: what changes in between is seen.
  watch(worker);
  auto launch = read_record<process::LaunchRecord>(worker.paths.folder + "/launch");
  if (launch.ok()) worker.launch = std::move(*launch);
  worker.state.master_port = worker.launch.master_port;
  worker.state.cpus = worker.launch.cpus;
  look(worker);
}

void ProcessSubstrate::watch(Worker& worker) {
  worker.watch = inotify_add_watch(inotify_.get(), worker.paths.folder.c_str(), IN_MOVED_TO);
  if (worker.watch >= 0) {
    watches_[worker.watch] = worker.state.key;
  } else {
    log_warn("worker_not_watched", "worker=" + to_text(worker.state.key) +
                                       " why=\"raise fs.inotify.max_user_watches\"");
  }
}

// ---- start ----

Done ProcessSubstrate::write_launch(const WorkerProcess& process, Worker& worker) {
  const WorkerPaths& paths = worker.paths;
  process::LaunchRecord& launch = worker.launch;
  launch.key = process.key;
  launch.argv = process.argv;
  launch.env = process.env;
  launch.workdir = process.workdir;
  launch.out = paths.out;
  launch.err = paths.err;
  launch.log_limit = process.log_limit;
  launch.cpu_milli = process.cpu_milli;
  launch.cpu_ceiling = options_.cpu_ceiling;
  launch.memory = process.memory;
  launch.cpus = process.cpus;
  launch.master_port = process.master_port;
  launch.lease = lease_path(options_.state_dir);
  launch.pids = options_.pids_limit;
  launch.device_rules = device_rules_of(process);
  launch.cgroup_root = options_.cgroup_root;
  launch.image = process.image;
  if (!process.image.empty()) {
    launch.mounts = process.mounts;
    launch.device_names = process.device_names;
    launch.device_files = process.device_files;
    for (const std::string& shared : options_.shared_devices) {
      if (exists(shared)) launch.device_files.push_back(shared);
    }
    launch.image_init = options_.image_init;
    launch.image_store = options_.state_dir + "/images";
  }
  // Keys are unique in a cluster, and a machine may be in two.
  launch.cgroup_name =
      to_text(process.key) + "-" + to_text(digest_of(options_.state_dir)).substr(0, 8);
  TRY(process::make_folders(paths.folder));
  TRY(process::make_folders(paths.out.substr(0, paths.out.rfind('/'))));
  return write_record(paths.folder + "/launch", launch, false);
}

Done ProcessSubstrate::start(const WorkerProcess& process) {
  if (process.argv.empty() || process.argv[0].empty()) {
    return invalid_argument("worker " + to_text(process.key) + " has no command to run");
  }
  if (workers_.count(process.key) != 0) {
    return already_exists("worker " + to_text(process.key) + " was started before");
  }
  Worker worker;
  worker.state.key = process.key;
  worker.state.master_port = process.master_port;
  worker.state.cpus = process.cpus;
  worker.paths = worker_paths(options_.state_dir, process.key);
  const auto reserved = reservations_.find(process.key);
  const bool hands_on = reserved != reservations_.end() && process.master_port != 0 &&
                        reserved->second.port == process.master_port;
  Done outcome = write_launch(process, worker);
  if (outcome.ok()) {
    watch(worker);
    const process::FolderLock lock(worker.paths.folder);
    const Result<pid_t> pid =
        process::spawn_shim(options_.shim_command, worker.paths.folder, lock.fd(),
                            hands_on ? reserved->second.lock.get() : -1);
    if (pid.ok()) {
      Worker& kept = workers_.emplace(process.key, std::move(worker)).first->second;
      hold_shim(kept, process::identify(*pid));
      if (hands_on) reservations_.erase(reserved);
      return done();
    }
    outcome = pid.error();
    inotify_rm_watch(inotify_.get(), worker.watch);
    watches_.erase(worker.watch);
  }
  remove_folder(worker.paths.folder);
  return outcome;
}

void ProcessSubstrate::hold_shim(Worker& worker, const process::ProcessIdentity& shim) {
  worker.shim = shim;
  worker.changed = true;
  Fd fd(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(shim.pid), 0)));
  // Looked at after the open: only if it is still the one meant is the descriptor of this process.
  if (!fd || !process::is_alive(shim)) return;
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd.get()}};
  epoll_ctl(wake_.get(), EPOLL_CTL_ADD, fd.get(), &event);
  shim_fds_[fd.get()] = worker.state.key;
  worker.shim_fd = std::move(fd);
}

// ---- poll ----

void ProcessSubstrate::read_wakes() {
  alignas(inotify_event) char buffer[16 * 1024];
  while (true) {
    const ssize_t got = read(inotify_.get(), buffer, sizeof buffer);
    if (got <= 0) break;
    for (ssize_t at = 0; at < got;) {
      const auto* const event = reinterpret_cast<const inotify_event*>(buffer + at);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      if ((event->mask & IN_Q_OVERFLOW) != 0) {
        for (auto& [key, worker] : workers_) worker.changed = true;
      }
      const auto watched = watches_.find(event->wd);
      if (watched != watches_.end()) workers_.at(watched->second).changed = true;
    }
  }
  // Shims that are gone. What does not fit into one call is still ready at the next poll.
  epoll_event events[256];
  const int ready = epoll_wait(wake_.get(), events, 256, 0);
  for (int i = 0; i < ready; ++i) {
    const auto shim = shim_fds_.find(events[i].data.fd);
    if (shim != shim_fds_.end()) workers_.at(shim->second).changed = true;
  }
}

std::vector<ProcessState> ProcessSubstrate::poll() {
  read_wakes();
  reap_shims();
  guard_devices();
  std::vector<ProcessState> states;
  for (auto& [key, worker] : workers_) {
    // Without a watch or a pidfd only looking tells.
    const bool blind = worker.watch < 0 || !worker.shim_fd;
    const bool ended = worker.state.status == WorkerStatus::kEnded;
    if (!ended && (worker.changed || worker.killed || blind)) look(worker);
    states.push_back(worker.state);
  }
  return states;
}

void ProcessSubstrate::look(Worker& worker) {
  worker.changed = false;
  look_for_end(worker);
  worker.state.hanging.clear();
  if (!worker.killed || worker.state.status == WorkerStatus::kEnded) return;
  process::WorkerScope scope = scope_of(worker);
  if (process::is_alive(worker.shim)) scope.tree_root = worker.shim.pid;
  worker.state.hanging = process::find_hanging(scope, options_.proc_root);
}

void ProcessSubstrate::look_for_end(Worker& worker) {
  if (read_end(worker)) return;
  read_running(worker);
  if (worker.shim.pid == 0) find_shim(worker);
  if (worker.state.status == WorkerStatus::kEnded || worker.shim.pid == 0) return;
  if (!is_shim_gone(worker)) return;
  // It may have recorded the end just before it went.
  if (!read_end(worker)) bury(worker);
}

bool ProcessSubstrate::read_end(Worker& worker) {
  const std::string path = worker.paths.folder + "/end";
  if (!exists(path)) return false;
  auto record = read_record<process::EndRecord>(path);
  if (!record.ok()) {
    // Only a crash of the whole machine damages it, and nothing outlived that.
    log_warn("end_unreadable", record.error().text());
    record = process::EndRecord{.end = {.cause = EndCause::kVanished}};
  }
  worker.state.status = WorkerStatus::kEnded;
  worker.state.end = std::move(record->end);
  worker.state.notes = std::move(record->notes);
  if (record->program_pid != 0) worker.state.pid = record->program_pid;
  let_shim_go(worker);
  return true;
}

void ProcessSubstrate::read_running(Worker& worker) {
  if (worker.state.status != WorkerStatus::kStarting) return;
  auto record = read_record<process::RunningRecord>(worker.paths.folder + "/running");
  if (!record.ok()) return;
  worker.running = std::move(*record);
  worker.state.status = WorkerStatus::kRunning;
  worker.state.pid = worker.running.program.pid;
  worker.state.notes = worker.running.notes;
  if (worker.shim.pid == 0) hold_shim(worker, worker.running.shim);
}

/// For an adopted worker whose program does not run yet: the lock tells whether its shim lives.
void ProcessSubstrate::find_shim(Worker& worker) {
  const process::FolderLock lock(worker.paths.folder);
  const auto identity = decode<process::ProcessIdentity>(lock.content());
  if (lock.is_mine()) {
    // No shim, and none will come: it would have had the lock since before it was started. What it
    // wrote there tells if it was of this boot.
    if (identity.ok()) worker.shim = *identity;
    if (!read_end(worker)) bury(worker);
    return;
  }
  if (identity.ok() && identity->pid > 0) hold_shim(worker, *identity);
}

bool ProcessSubstrate::is_shim_gone(const Worker& worker) const {
  return worker.shim.pid != 0 && !process::is_alive(worker.shim);
}

process::WorkerScope ProcessSubstrate::scope_of(const Worker& worker) const {
  process::WorkerScope scope;
  scope.cgroup = process::WorkerCgroup(worker.running.cgroups);
  if (worker.running.cgroups.empty()) {
    // It died before it could tell; the names of its groups are known all the same.
    scope.cgroup = process::WorkerCgroup(process::find_worker_groups(
        process::find_cgroup_trees(worker.launch.cgroup_root,
                                   read_file("/proc/self/cgroup").value_or("")),
        worker.launch.cgroup_name));
    if (!worker.launch.image.empty()) {
      std::vector<std::string> folders = scope.cgroup.folders();
      for (std::string& group : process::runtime_groups(worker.launch.cgroup_root,
                                                        worker.launch.cgroup_name)) {
        folders.push_back(std::move(group));
      }
      scope.cgroup = process::WorkerCgroup(std::move(folders));
    }
  }
  scope.program = worker.running.program;
  scope.since_ticks = worker.shim.start_ticks;
  const auto socket = worker.launch.env.find("KEIKO_SOCKET");
  if (socket != worker.launch.env.end() && socket->second == worker.paths.socket) {
    scope.env_mark = "KEIKO_SOCKET=" + socket->second;
  }
  return scope;
}

/// The shim is gone and recorded nothing. What is left of its worker is killed first, so that the
/// end is true when it is told; what cannot be killed yet is tried again at the next poll().
void ProcessSubstrate::bury(Worker& worker) {
  const bool same_boot =
      worker.shim.boot_id.empty() || worker.shim.boot_id == process::boot_id();
  const process::WorkerScope scope = scope_of(worker);
  worker.killed = worker.killed || same_boot;
  if (same_boot && !process::kill_members(scope, 20, worker.dying)) {
    worker.changed = true;
    return;
  }
  scope.cgroup.remove();
  process::EndRecord record;
  record.end.cause = EndCause::kVanished;
  record.end.last_words = same_boot ? "its shim was killed; whatever it left was killed as well"
                                    : "the machine was restarted while it ran";
  record.program_pid = worker.running.program.pid;
  record.notes = worker.state.notes;
  const Done written = write_record(worker.paths.folder + "/end", record, false);
  if (!written.ok()) log_warn("end_not_recorded", written.error().text());
  worker.state.status = WorkerStatus::kEnded;
  worker.state.end = record.end;
  let_shim_go(worker);
}

void ProcessSubstrate::let_shim_go(Worker& worker) {
  // Of before a reboot, say, its number may be that of another child of ours by now.
  const bool is_there = worker.shim.pid > 0 && process::identify(worker.shim.pid) == worker.shim;
  if (is_there) exiting_shims_.insert(static_cast<pid_t>(worker.shim.pid));
  shim_fds_.erase(worker.shim_fd.get());
  worker.shim_fd.reset();
  reap_shims();
}

/// Shims that this agent started are its children and leave a zombie; adopted ones are init's.
void ProcessSubstrate::reap_shims() {
  for (auto it = exiting_shims_.begin(); it != exiting_shims_.end();) {
    it = waitpid(*it, nullptr, WNOHANG) == 0 ? std::next(it) : exiting_shims_.erase(it);
  }
}

// ---- the other verbs ----

Done ProcessSubstrate::signal(const WorkerKey& key, int signal) {
  const auto it = workers_.find(key);
  if (it == workers_.end() || it->second.state.status == WorkerStatus::kEnded) {
    return not_found("no worker " + to_text(key) + " runs here");
  }
  Worker& worker = it->second;
  if (worker.shim.pid == 0) look(worker);
  if (worker.state.status == WorkerStatus::kEnded) {
    return not_found("worker " + to_text(key) + " has ended");
  }
  if (!worker.shim_fd) return unavailable("worker " + to_text(key) + " is being found; try again");
  siginfo_t request{};
  request.si_signo = process::request_signal();
  request.si_code = SI_QUEUE;
  request.si_pid = getpid();
  request.si_uid = getuid();
  request.si_value.sival_int = signal;
  const long sent = syscall(SYS_pidfd_send_signal, worker.shim_fd.get(), process::request_signal(),
                            &request, 0);
  const int error = errno;
  if (signal == SIGKILL) {
    worker.killed = true;
    // A shim that is stopped or waits for a dead disk must not keep its worker alive.
    process::WorkerScope scope = scope_of(worker);
    if (process::is_alive(worker.shim)) scope.tree_root = worker.shim.pid;
    process::signal_members(scope, SIGKILL);
  }
  if (sent == 0 || error == ESRCH) {
    worker.changed = true;
    return done();
  }
  return errno_error("cannot signal worker " + to_text(key), error);
}

Done ProcessSubstrate::forget(const WorkerKey& key) {
  const auto it = workers_.find(key);
  if (it == workers_.end()) {
    if (reservations_.erase(key) != 0) return done();
    return not_found("worker " + to_text(key) + " is not known here");
  }
  Worker& worker = it->second;
  if (worker.state.status != WorkerStatus::kEnded) {
    return failed_precondition("worker " + to_text(key) + " still runs; stop it first");
  }
  if (worker.watch >= 0) {
    inotify_rm_watch(inotify_.get(), worker.watch);
    watches_.erase(worker.watch);
  }
  unlink(worker.paths.socket.c_str());
  remove_folder(worker.paths.folder);
  workers_.erase(it);
  reservations_.erase(key);
  return done();
}

Result<int32_t> ProcessSubstrate::reserve_port(const WorkerKey& key) {
  const auto held = reservations_.find(key);
  if (held != reservations_.end()) return held->second.port;
  const auto worker = workers_.find(key);
  if (worker != workers_.end() && worker->second.state.master_port != 0) {
    return worker->second.state.master_port;
  }
  const process::PortRange range = process::outside_ephemeral(
      {options_.port_first, options_.port_last},
      read_file("/proc/sys/net/ipv4/ip_local_port_range").value_or(""));
  process::PortLock reservation =
      TRY(process::reserve_free_port(options_.port_dir, range, port_seed_++));
  const int32_t port = reservation.port;
  reservations_.emplace(key, std::move(reservation));
  return port;
}

Done ProcessSubstrate::hold_lease(Duration ends_in, Duration kill_in) {
  return lease_.write(lease_path(options_.state_dir), ends_in, kill_in);
}

std::optional<Duration> ProcessSubstrate::lease_left() {
  const auto lease = process::read_lease(lease_path(options_.state_dir));
  if (!lease) return std::nullopt;
  return lease->ends_in;
}

}  // namespace keiko
