#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "drivers/substrate/process/proc.h"
#include "drivers/substrate/process/test_machine.h"

namespace keiko::process {

bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 20'000; ++i) {
    if (condition()) return true;
    usleep(1'000);
  }
  return condition();
}

int64_t read_pid_file(const std::string& path) {
  eventually([&] { return exists(path); });
  return std::atoll(read_file(path).value_or("0").c_str());
}

TestMachine::TestMachine() {
  const char* const above = std::getenv("TMPDIR");
  std::string folder = std::string(above != nullptr ? above : "/tmp") + "/keiko-process-XXXXXX";
  CHECK(mkdtemp(folder.data()) != nullptr);
  options_.state_dir = folder;
  options_.port_dir = folder + "/ports";
  open();
}

void TestMachine::open() {
  auto opened = ProcessSubstrate::open(options_);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  substrate_ = std::move(*opened);
}

TestMachine::~TestMachine() {
  if (!substrate_) open();
  for (const ProcessState& state : substrate_->poll()) {
    if (state.status != WorkerStatus::kEnded) (void)substrate_->signal(state.key, SIGKILL);
  }
  eventually([&] {
    for (const ProcessState& state : substrate_->poll()) {
      if (state.status != WorkerStatus::kEnded) return false;
    }
    return true;
  });
  substrate_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(options_.state_dir, ignored);
}

WorkerProcess shell(const std::string& script, int32_t rank) {
  WorkerProcess process;
  process.key = worker_key(rank);
  process.argv = {"sh", "-c", script};
  process.env = {{"PATH", "/usr/bin:/bin"}};
  process.workdir = "/";
  return process;
}

WorkerProcess act(const std::string& name, const std::string& argument) {
  WorkerProcess process = shell("");
  process.argv = {std::filesystem::read_symlink("/proc/self/exe").string(), "act", name, argument};
  return process;
}

std::string Freezer::freeze(int64_t pid) {
  const std::string mount = "/sys/fs/cgroup/freezer";
  const std::string group = mount + "/keiko-test-" + std::to_string(getpid());
  if (!exists(mount + "/cgroup.procs") ||
      (mkdir(group.c_str(), 0755) != 0 && errno != EEXIST)) {
    return "no writable freezer of cgroups v1, the one way to a process that no signal reaches";
  }
  group_ = group;
  write_control(group + "/cgroup.procs", std::to_string(pid));
  write_control(group + "/freezer.state", "FROZEN");
  const auto is_frozen = [&] {
    return trim(read_file(group + "/freezer.state").value_or("")) == "FROZEN";
  };
  return eventually(is_frozen) ? "" : "the kernel does not freeze process " + std::to_string(pid);
}

void Freezer::thaw() {
  if (group_.empty()) return;
  write_control(group_ + "/freezer.state", "THAWED");
  eventually([&] { return rmdir(group_.c_str()) == 0; });
  group_.clear();
}

Freezer::~Freezer() { thaw(); }

ProcessState TestMachine::state(int32_t rank) {
  for (const ProcessState& found : substrate_->poll()) {
    if (found.key == worker_key(rank)) return found;
  }
  return {};
}

ProcessState TestMachine::wait_for(WorkerStatus status, int32_t rank) {
  for (int i = 0; i < 200; ++i) {
    const ProcessState now = state(rank);
    if (now.status == status || now.status == WorkerStatus::kEnded) return now;
    pollfd wait{substrate_->wake_fd(), POLLIN, 0};
    ::poll(&wait, 1, 100);
  }
  return state(rank);
}

ProcessState TestMachine::run(const WorkerProcess& process) {
  const Done started = substrate_->start(process);
  EXPECT_TRUE(started.ok()) << (started.ok() ? "" : started.error().text());
  return wait_for(WorkerStatus::kEnded, process.key.rank);
}

std::string TestMachine::out(int32_t rank) const {
  return read_file(worker_paths(options_.state_dir, worker_key(rank)).out).value_or("");
}
std::string TestMachine::err(int32_t rank) const {
  return read_file(worker_paths(options_.state_dir, worker_key(rank)).err).value_or("");
}
std::string TestMachine::folder(int32_t rank) const {
  return worker_paths(options_.state_dir, worker_key(rank)).folder;
}
int64_t TestMachine::shim_pid(int32_t rank) const {
  return MUST(read_record<RunningRecord>(folder(rank) + "/running")).shim.pid;
}

}  // namespace keiko::process
