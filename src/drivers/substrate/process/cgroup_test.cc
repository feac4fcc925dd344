#include "drivers/substrate/process/cgroup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "drivers/substrate/process/proc.h"
#include "drivers/substrate/process/test_machine.h"

namespace keiko::process {
namespace {

/// A folder that looks as /sys/fs/cgroup would. Control files appear where the code writes them.
class FakeCgroupRoot {
 public:
  FakeCgroupRoot() : root_(machine_.path("cgroup")) { std::filesystem::create_directories(root_); }
  void file(const std::string& name, const std::string& text) {
    const std::filesystem::path path = root_ + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string read(const std::string& name) const {
    return read_file(root_ + "/" + name).value_or("(none)");
  }
  const std::string& root() const { return root_; }

 private:
  TestMachine machine_;
  std::string root_;
};

TEST(Cgroup, finds_version_2) {
  FakeCgroupRoot fake;
  fake.file("cgroup.controllers", "cpuset cpu memory\n");
  const auto trees = find_cgroup_trees(fake.root(), "0::/system.slice/keiko.service\n");
  ASSERT_EQ(trees.size(), 1u);
  EXPECT_EQ(trees[0].controller, "");
  EXPECT_EQ(trees[0].own_group, "/system.slice/keiko.service");
}

TEST(Cgroup, finds_version_1_by_controller_and_tracks_by_one_of_them) {
  FakeCgroupRoot fake;
  for (const char* name : {"memory", "cpu", "freezer", "blkio"}) {
    fake.file(std::string(name) + "/cgroup.procs", "");
  }
  const auto trees = find_cgroup_trees(fake.root(), "5:cpu,cpuacct:/a\n4:memory:/b\n");
  ASSERT_EQ(trees.size(), 3u);
  EXPECT_EQ(trees[0].controller, "freezer");
  EXPECT_EQ(trees[1].controller, "memory");
  EXPECT_EQ(trees[1].own_group, "/b");
  EXPECT_EQ(trees[2].own_group, "/a");
}

TEST(Cgroup, finds_the_hybrid_of_both) {
  FakeCgroupRoot fake;
  fake.file("unified/cgroup.procs", "");
  fake.file("systemd/cgroup.procs", "");
  fake.file("freezer/cgroup.procs", "");
  fake.file("memory/cgroup.procs", "");
  const auto trees =
      find_cgroup_trees(fake.root(), "9:name=systemd:/s\n4:memory:/b\n0::/u\n");
  ASSERT_EQ(trees.size(), 3u);
  EXPECT_EQ(trees[0].mount, fake.root() + "/unified");
  EXPECT_EQ(trees[0].own_group, "/u");
  EXPECT_EQ(trees[1].own_group, "/s");
  EXPECT_EQ(trees[2].controller, "memory");
}

TEST(Cgroup, finds_nothing_where_nothing_is_mounted) {
  EXPECT_TRUE(find_cgroup_trees("/no/such/place", "").empty());
  EXPECT_TRUE(find_cgroup_trees("", "").empty());
}

TEST(Cgroup, sets_the_limits_of_version_2) {
  FakeCgroupRoot fake;
  fake.file("cgroup.controllers", "cpuset cpu memory\n");
  fake.file("keiko/w/cgroup.controllers", "cpuset cpu memory\n");
  const WorkerCgroup cgroup(find_cgroup_trees(fake.root(), ""), "w",
                            {mebibytes(64), 1500, true, {0, 2}});
  EXPECT_TRUE(cgroup.holds_memory());
  EXPECT_TRUE(cgroup.notes().empty());
  EXPECT_EQ(fake.read("keiko/w/memory.max"), "67108864");
  EXPECT_EQ(fake.read("keiko/w/cpu.weight"), "150");
  EXPECT_EQ(fake.read("keiko/w/cpu.max"), "150000 100000");
  EXPECT_EQ(fake.read("keiko/w/cpuset.cpus"), "0,2");
}

TEST(Cgroup, sets_no_ceiling_that_nobody_asked_for) {
  FakeCgroupRoot fake;
  fake.file("cgroup.controllers", "cpu memory\n");
  fake.file("keiko/w/cgroup.controllers", "cpu memory\n");
  const WorkerCgroup cgroup(find_cgroup_trees(fake.root(), ""), "w", {{}, 1000, false, {}});
  EXPECT_EQ(fake.read("keiko/w/cpu.max"), "(none)");
  EXPECT_EQ(fake.read("keiko/w/memory.max"), "(none)");
}

TEST(Cgroup, sets_the_limits_of_version_1) {
  FakeCgroupRoot fake;
  for (const char* name : {"memory", "cpu", "cpuset"}) {
    fake.file(std::string(name) + "/cgroup.procs", "");
  }
  fake.file("cpuset/cpuset.cpus", "0-3\n");
  fake.file("cpuset/cpuset.mems", "0\n");
  const WorkerCgroup cgroup(find_cgroup_trees(fake.root(), ""), "w",
                            {mebibytes(64), 500, false, {1}});
  EXPECT_EQ(cgroup.folders().size(), 3u);
  EXPECT_EQ(fake.read("memory/keiko/w/memory.limit_in_bytes"), "67108864");
  EXPECT_EQ(fake.read("cpu/keiko/w/cpu.shares"), "512");
  EXPECT_EQ(fake.read("cpuset/keiko/cpuset.cpus"), "0-3");
  EXPECT_EQ(fake.read("cpuset/keiko/w/cpuset.mems"), "0");
  EXPECT_EQ(fake.read("cpuset/keiko/w/cpuset.cpus"), "1");
}

TEST(Cgroup, limits_threads_in_either_version) {
  FakeCgroupRoot fake;
  fake.file("v2/cgroup.controllers", "pids\n");
  fake.file("v2/keiko/w/cgroup.controllers", "pids\n");
  fake.file("v1/pids/cgroup.procs", "");
  CgroupLimits limits;
  limits.pids = 100;
  const WorkerCgroup second(find_cgroup_trees(fake.root() + "/v2", ""), "w", limits);
  const WorkerCgroup first(find_cgroup_trees(fake.root() + "/v1", ""), "w", limits);
  EXPECT_EQ(second.held_by("threads"), "cgroup v2");
  EXPECT_EQ(first.held_by("threads"), "cgroup v1");
  EXPECT_EQ(first.held_by("memory"), "") << "nobody asked for it";
  EXPECT_EQ(fake.read("v2/keiko/w/pids.max"), "100");
  EXPECT_EQ(fake.read("v1/pids/keiko/w/pids.max"), "100");
}

TEST(Cgroup, says_why_device_rules_do_not_hold) {
  CgroupLimits limits;
  limits.devices = harmless_device_rules();
  const WorkerCgroup cgroup({}, "w", limits);
  EXPECT_FALSE(cgroup.holds_devices());
  EXPECT_NE(cgroup.devices_unheld().find("no writable cgroup"), std::string::npos);
}

TEST(Cgroup, says_which_limits_it_cannot_hold) {
  const WorkerCgroup cgroup({}, "w", {mebibytes(64), 500, false, {}});
  EXPECT_FALSE(cgroup.holds_memory());
  ASSERT_EQ(cgroup.notes().size(), 2u);
  EXPECT_NE(cgroup.notes()[0].find("64MiB"), std::string::npos);
  EXPECT_NE(cgroup.notes()[1].find("500m"), std::string::npos);
}

TEST(Cgroup, reads_the_kernel_s_count_of_kills_for_memory) {
  FakeCgroupRoot fake;
  fake.file("a/memory.events", "low 0\nhigh 0\nmax 3\noom 2\noom_kill 2\n");
  fake.file("b/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  EXPECT_EQ(WorkerCgroup({fake.root() + "/a"}).oom_kills(), 2);
  EXPECT_EQ(WorkerCgroup({fake.root() + "/b"}).oom_kills(), 1);
  EXPECT_EQ(WorkerCgroup({fake.root() + "/c"}).oom_kills(), 0);
}

TEST(Cgroup, lists_members_of_groups_that_the_worker_made_below_its_own) {
  FakeCgroupRoot fake;
  fake.file("w/cgroup.procs", "12\n7\n");
  fake.file("w/inner/cgroup.procs", "9\n");
  EXPECT_EQ(WorkerCgroup({fake.root() + "/w"}).members(), (std::vector<int64_t>{7, 9, 12}));
}

/// tail keeps its last line in memory, and this one has no end of line.
constexpr const char* kTakes256MiB = "head -c 268435456 /dev/zero | tail -n 1 > /dev/null";

/// What the kernel of this machine really does, where it lets us.
class RealCgroup : public testing::Test {
 protected:
  bool has_memory_controller() {
    const auto trees =
        find_cgroup_trees("/sys/fs/cgroup", read_file("/proc/self/cgroup").value_or(""));
    const std::string name = "probe-" + std::to_string(getpid());
    const WorkerCgroup probe(trees, name, {gibibytes(1), 0, false, {}});
    probe.remove();
    return probe.holds_memory();
  }
  static bool can_make_groups(const std::string& controller) {
    for (const CgroupTree& tree :
         find_cgroup_trees("/sys/fs/cgroup", read_file("/proc/self/cgroup").value_or(""))) {
      if (tree.controller == controller && access(tree.mount.c_str(), W_OK) == 0) return true;
    }
    return false;
  }
  TestMachine machine_;
};

TEST_F(RealCgroup, ends_a_worker_that_takes_more_memory_than_it_may) {
  if (!has_memory_controller()) GTEST_SKIP() << "no writable memory cgroup on this machine";
  WorkerProcess process = shell(kTakes256MiB);
  process.memory = mebibytes(64);
  const ProcessState ended = machine_.run(process);
  EXPECT_EQ(ended.end.cause, EndCause::kOutOfMemory);
  EXPECT_TRUE(ended.notes.empty());
}

TEST_F(RealCgroup, holds_memory_by_rlimit_and_says_so_where_there_is_no_cgroup) {
  machine_.options().cgroup_root = "";
  machine_.open();
  WorkerProcess process = shell(kTakes256MiB);
  process.memory = mebibytes(64);
  const ProcessState ended = machine_.run(process);
  EXPECT_EQ(ended.end.cause, EndCause::kExited);
  EXPECT_EQ(ended.end.last_words, "tail: memory exhausted");
  ASSERT_EQ(ended.notes.size(), 1u);
  EXPECT_NE(ended.notes[0].find("RLIMIT_DATA"), std::string::npos);
}

TEST_F(RealCgroup, binds_a_worker_to_its_cpus) {
  WorkerProcess process = shell("grep Cpus_allowed_list /proc/self/status");
  process.cpus = {0};
  machine_.run(process);
  EXPECT_EQ(machine_.out(), "Cpus_allowed_list:\t0\n");
}

TEST_F(RealCgroup, keeps_a_worker_on_its_cpus_even_if_it_asks_for_others) {
  if (!can_make_groups("cpuset")) GTEST_SKIP() << "no writable cpuset cgroup on this machine";
  WorkerProcess process = shell(
      "taskset -pc 0-1023 $$ > /dev/null 2>&1; grep Cpus_allowed_list /proc/self/status");
  process.cpus = {0};
  machine_.run(process);
  EXPECT_EQ(machine_.out(), "Cpus_allowed_list:\t0\n");
}

TEST_F(RealCgroup, ends_a_fork_bomb_at_the_limit_of_its_own_worker) {
  if (!can_make_groups("pids")) GTEST_SKIP() << "no writable pids cgroup on this machine";
  machine_.options().pids_limit = 20;
  machine_.open();
  // 64 children that wait; the shell says what could not be made.
  machine_.run(shell("for i in $(seq 64); do sleep 1000 & done; jobs -p | wc -l"));
  EXPECT_NE(machine_.err().find("ork"), std::string::npos) << machine_.err();
}

TEST_F(RealCgroup, tells_of_cpus_that_do_not_exist) {
  WorkerProcess process = shell("true");
  process.cpus = {1000};
  const ProcessState ended = machine_.run(process);
  EXPECT_EQ(ended.end.exit_code, 0);
  const bool told = std::any_of(ended.notes.begin(), ended.notes.end(), [](const auto& note) {
    return note.find("not bound to its cpus") != std::string::npos;
  });
  EXPECT_TRUE(told);
}

TEST_F(RealCgroup, leaves_no_group_behind) {
  WorkerProcess process = shell("true");
  process.memory = mebibytes(64);
  process.cpu_milli = 500;
  process.cpus = {0};
  machine_.run(process);
  const auto launch = MUST(read_record<LaunchRecord>(machine_.folder() + "/launch"));
  const auto trees =
      find_cgroup_trees("/sys/fs/cgroup", read_file("/proc/self/cgroup").value_or(""));
  EXPECT_TRUE(find_worker_groups(trees, launch.cgroup_name).empty());
}

TEST(ProcessStat, is_read_from_names_that_look_like_fields) {
  const auto stat = parse_stat(
      "42 (a) R 1 (b) S 7 42 40 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 0 0 0\n");
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->pid, 42);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 7);
  EXPECT_EQ(stat->session, 40);
  EXPECT_EQ(stat->start_ticks, 987654);
  EXPECT_FALSE(parse_stat("42 (a").has_value());
}

TEST(ProcessStat, tells_of_any_thread_that_waits_in_the_kernel) {
  FakeCgroupRoot proc;  // any folder will do
  const auto add = [&](const std::string& thread, const char* state) {
    std::string rest;
    for (int i = 0; i < 20; ++i) rest += " 0";
    proc.file("77/task/" + thread + "/stat", thread + " (a) b) " + state + rest + "\n");
  };
  add("77", "S");
  add("78", "R");
  EXPECT_FALSE(waits_in_kernel(proc.root(), 77));
  add("78", "D");
  EXPECT_TRUE(waits_in_kernel(proc.root(), 77));
  add("77", "Z");
  EXPECT_TRUE(waits_in_kernel(proc.root(), 77)) << "its first thread is dead, another hangs";
  EXPECT_FALSE(waits_in_kernel(proc.root(), 78)) << "no such process";
}

TEST(ProcessStat, tells_this_process_from_one_that_had_its_pid_before) {
  ProcessIdentity self = identify(getpid());
  EXPECT_TRUE(is_alive(self));
  self.start_ticks -= 1;
  EXPECT_FALSE(is_alive(self));
  EXPECT_FALSE(is_alive({}));
}

}  // namespace
}  // namespace keiko::process
