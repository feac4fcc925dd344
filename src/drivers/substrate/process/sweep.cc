#include "drivers/substrate/process/sweep.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "drivers/substrate/process/files.h"
#include "drivers/substrate/process/proc.h"

namespace keiko::process {
namespace {

bool has_mark(int64_t pid, const std::string& mark) {
  if (mark.empty()) return false;
  const std::string env = read_file("/proc/" + std::to_string(pid) + "/environ").value_or("");
  const std::string first = mark + '\0';
  return env.compare(0, first.size(), first) == 0 || env.find('\0' + first) != std::string::npos;
}

/// A session's number stays taken while anybody is in it. So if its leader is gone or is still the
/// recorded one, all of its members are the worker's; if the leader is another, none is.
bool session_is_ours(const WorkerScope& scope) {
  if (scope.program.pid <= 0 || scope.program.boot_id != boot_id()) return false;
  const auto leader = read_stat(scope.program.pid);
  return !leader.has_value() || leader->start_ticks == scope.program.start_ticks;
}

void append_strays(const WorkerScope& scope, std::vector<int64_t>& pids) {
  const bool by_session = session_is_ours(scope);
  for (const ProcessStat& stat : all_processes()) {
    if (stat.start_ticks < scope.since_ticks || stat.pid == getpid()) continue;
    const bool ours = (by_session && stat.session == scope.program.pid) ||
                      has_mark(stat.pid, scope.env_mark);
    if (!ours) continue;
    pids.push_back(stat.pid);
    for (const int64_t child : descendants(stat.pid)) pids.push_back(child);
  }
}

void note_start(const std::vector<int64_t>& pids, DyingProcesses& dying) {
  for (const int64_t pid : pids) {
    if (const auto stat = read_stat(pid)) dying.emplace(pid, stat->start_ticks);
  }
}

bool is_alive(const std::pair<const int64_t, int64_t>& process) {
  const auto stat = read_stat(process.first);
  return stat.has_value() && !stat->dead() && stat->start_ticks == process.second;
}

}  // namespace

std::vector<int64_t> find_members(const WorkerScope& scope) {
  std::vector<int64_t> pids;
  for (const int64_t pid : scope.cgroup.members()) {
    const auto stat = read_stat(pid);
    if (stat.has_value() && !stat->dead()) pids.push_back(pid);
  }
  if (scope.tree_root > 0) {
    for (const int64_t pid : descendants(scope.tree_root)) pids.push_back(pid);
  } else {
    append_strays(scope, pids);
  }
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

std::vector<int64_t> find_hanging(const WorkerScope& scope, const std::string& proc_root) {
  std::vector<int64_t> pids = scope.cgroup.members();
  for (const int64_t pid : find_members(scope)) pids.push_back(pid);
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  std::erase_if(pids, [&](int64_t pid) { return !waits_in_kernel(proc_root, pid); });
  return pids;
}

size_t signal_members(const WorkerScope& scope, int signal) {
  if (signal == SIGKILL) scope.cgroup.kill();
  std::map<int64_t, Fd> pinned;
  bool can_pin = true;
  for (const int64_t pid : find_members(scope)) {
    Fd fd(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
    if (!fd && errno == ENOSYS) can_pin = false;
    if (fd || !can_pin) pinned.emplace(pid, std::move(fd));
  }
  size_t count = 0;
  if (pinned.empty()) return count;
  for (const int64_t pid : find_members(scope)) {
    const auto it = pinned.find(pid);
    if (it == pinned.end()) continue;
    ++count;
    if (it->second) {
      syscall(SYS_pidfd_send_signal, it->second.get(), signal, nullptr, 0);
    } else {
      ::kill(static_cast<pid_t>(pid), signal);  // kernels before 5.3: as good as it gets there
    }
  }
  return count;
}

bool kill_members(const WorkerScope& scope, int rounds, DyingProcesses& dying) {
  for (int i = 0; i < rounds; ++i) {
    note_start(find_members(scope), dying);
    const size_t signalled = signal_members(scope, SIGKILL);
    std::erase_if(dying, [](const auto& process) { return !is_alive(process); });
    if (signalled == 0 && dying.empty() && find_members(scope).empty()) return true;
    usleep(1'000);
  }
  return dying.empty() && find_members(scope).empty();
}

}  // namespace keiko::process
