// Device rules as the kernel of this machine holds them, by the list of version 1 and by the
// program of version 2. The device of these tests is another node of the kernel's log, which no
// program needs.
#include "drivers/substrate/process/devices/device_guard.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <csignal>

#include "base/text.h"
#include "drivers/substrate/process/devices/device_program.h"
#include "drivers/substrate/process/test_machine.h"

namespace keiko::process {
namespace {

TEST(DeviceRules, are_written_and_read_as_the_kernel_does) {
  const std::string text = "c 1:3 rw\nc 136:* rw\nb 7:0 rwm";
  const std::vector<DeviceRule> rules = parse_device_rules(text + "\nnonsense\nc 1 rw\nc x:1 r\n");
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(to_text(rules[0]) + "\n" + to_text(rules[1]) + "\n" + to_text(rules[2]), text);
}

TEST(DeviceRules, follow_from_nodes_and_from_folders_and_name_what_is_missing) {
  std::vector<std::string> missing;
  const auto rules = rules_of_files({"/dev/null", "/no/such/node", "/etc/passwd"}, missing);
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(to_text(rules[0]), "c 1:3 rw");
  EXPECT_EQ(missing, std::vector<std::string>{"/no/such/node"});
  const auto folder = sorted(rules_of_files({"/dev"}, missing));
  EXPECT_NE(std::find(folder.begin(), folder.end(), rules[0]), folder.end());
}

TEST(DeviceProgram, jumps_only_forward_and_within_itself) {
  const auto program = assemble_device_program(harmless_device_rules());
  for (size_t at = 0; at < program.size(); ++at) {
    if (BPF_CLASS(program[at].code) != BPF_JMP32) continue;
    EXPECT_GT(program[at].off, 0);
    EXPECT_LT(at + 1 + static_cast<size_t>(program[at].off), program.size());
  }
}

/// The parameter is where cgroups are mounted; the unified mount by itself is version 2.
class GuardedWorker : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    machine_.close();
    machine_.options().cgroup_root = GetParam();
    machine_.options().guard_every = milliseconds(50);
    machine_.open();
    node_ = machine_.path("accelerator");
    if (mknod(node_.c_str(), S_IFCHR | 0600, makedev(1, 11)) != 0 || access(node_.c_str(), R_OK)) {
      GTEST_SKIP() << "device nodes cannot be made here: run as root";
    }
    const auto trees = find_cgroup_trees(GetParam(), read_file("/proc/self/cgroup").value_or(""));
    CgroupLimits limits;
    limits.devices = harmless_device_rules();
    const WorkerCgroup probe(trees, "guard-" + std::to_string(getpid()), limits);
    probe.remove();
    if (!probe.holds_devices()) GTEST_SKIP() << GetParam() << ": " << probe.devices_unheld();
  }

  /// Tries to open the node every 10 ms, saying "open" or "shut" whenever that changes.
  WorkerProcess opener(bool owns, int32_t rank) const {
    WorkerProcess process = shell(
        "was=; while :; do if (: < " + node_ + ") 2>/dev/null; then now=open; else now=shut; fi; "
        "[ \"$now\" = \"$was\" ] || echo $now; was=$now; sleep 0.01; done", rank);
    if (owns) process.device_files = {node_};
    return process;
  }
  std::string guarded_group(int32_t rank) {
    const auto running = MUST(read_record<RunningRecord>(machine_.folder(rank) + "/running"));
    return device_group(running.cgroups);
  }
  bool says(const std::string& text, int32_t rank) {
    return eventually([&] {
      machine_.state(rank);  // the substrate looks
      return machine_.out(rank) == text;
    });
  }
  void stop(int32_t rank) {
    MUST(machine_.substrate().signal(worker_key(rank), SIGKILL));
    machine_.wait_for(WorkerStatus::kEnded, rank);
  }

  TestMachine machine_;
  std::string node_;
};

TEST_P(GuardedWorker, opens_its_own_device_and_its_neighbour_does_not) {
  MUST(machine_.substrate().start(opener(true, 0)));
  MUST(machine_.substrate().start(opener(false, 1)));
  EXPECT_TRUE(says("open\n", 0)) << machine_.out(0);
  EXPECT_TRUE(says("shut\n", 1)) << machine_.out(1);
  stop(0);
  stop(1);
}

TEST_P(GuardedWorker, still_opens_what_every_program_needs) {
  machine_.run(
      shell("head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c; echo x > /dev/null && "
            "echo ok"));
  EXPECT_EQ(machine_.out(), "4\n4\nok\n") << machine_.err();
}

// Complaint 20: a reload of the service manager takes GPUs from running workers.
TEST_P(GuardedWorker, gets_its_device_back_after_somebody_took_it_away) {
  MUST(machine_.substrate().start(opener(true, 0)));
  ASSERT_TRUE(says("open\n", 0)) << machine_.out(0);
  const std::string group = guarded_group(0);
  if (exists(group + "/devices.deny")) {
    ASSERT_TRUE(write_control(group + "/devices.deny", "c 1:11 rwm"));
  } else {
    MUST(attach_device_program(group, harmless_device_rules()));
  }
  EXPECT_TRUE(eventually([&] {
    machine_.state(0);
    const std::string out = machine_.out(0);
    const bool back = restore_devices(group, parse_device_rules(join(
        MUST(read_record<LaunchRecord>(machine_.folder() + "/launch")).device_rules, "\n")))
                          .value_or("?").empty();
    return back && (out == "open\n" || out == "open\nshut\nopen\n");
  })) << machine_.out(0);
  stop(0);
}

TEST_P(GuardedWorker, loses_within_a_period_what_somebody_else_allowed_it) {
  MUST(machine_.substrate().start(opener(false, 0)));
  ASSERT_TRUE(says("shut\n", 0)) << machine_.out(0);
  const std::string group = guarded_group(0);
  if (exists(group + "/devices.allow")) {
    ASSERT_TRUE(write_control(group + "/devices.allow", "c 1:11 rw"));
  } else {
    MUST(detach_device_programs(group));
  }
  ASSERT_TRUE(eventually([&] { return machine_.out(0) == "shut\nopen\n"; })) << machine_.out(0);
  EXPECT_TRUE(says("shut\nopen\nshut\n", 0)) << machine_.out(0);
  stop(0);
}

TEST_P(GuardedWorker, is_guarded_by_the_agent_that_comes_after) {
  MUST(machine_.substrate().start(opener(false, 0)));
  ASSERT_TRUE(says("shut\n", 0)) << machine_.out(0);
  const std::string group = guarded_group(0);
  machine_.close();
  if (exists(group + "/devices.allow")) {
    ASSERT_TRUE(write_control(group + "/devices.allow", "a"));
  } else {
    MUST(detach_device_programs(group));
  }
  ASSERT_TRUE(eventually([&] { return machine_.out(0) == "shut\nopen\n"; })) << machine_.out(0);
  machine_.open();
  EXPECT_TRUE(says("shut\nopen\nshut\n", 0)) << machine_.out(0);
  stop(0);
}

INSTANTIATE_TEST_SUITE_P(Mounts, GuardedWorker,
                         testing::Values("/sys/fs/cgroup", "/sys/fs/cgroup/unified"),
                         [](const auto& mount) {
                           return mount.index == 0 ? "machine" : "unified";
                         });

}  // namespace
}  // namespace keiko::process
