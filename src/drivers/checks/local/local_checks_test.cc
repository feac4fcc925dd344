#include "drivers/checks/local/local_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "drivers/checks/local/hook.h"
#include "drivers/checks/local/matmul.h"
#include "ports/devices_fake.h"
#include "ports/testing/checks_conformance.h"
#include "ports/testing/devices_lent.h"

namespace keiko {
namespace {

using testing::HasSubstr;

/// Two cpu slots with a link, and a folder for hooks.
struct LocalChecksHarness {
  LocalChecksHarness() {
    std::string pattern = testing::TempDir() + "keiko_checks_XXXXXX";
    folder = mkdtemp(pattern.data());
    for (Device& device : inventory.devices) device.vendor = device.kind = "cpu";
    inventory.links = {{0, 1, LinkKind::kNvlink, 50'000, {}, 50'000}};
    fake.set_inventory(inventory);
    options.hooks_dir = folder;
    options.memory_patience = milliseconds(10);
  }
  ~LocalChecksHarness() { std::filesystem::remove_all(folder); }

  Checks& checks() {
    if (!local) {
      local.emplace(options, [this]() -> Result<std::unique_ptr<Devices>> {
        return std::unique_ptr<Devices>(std::make_unique<LentDevices>(fake));
      });
    }
    return *local;
  }
  std::vector<Device> devices() { return inventory.devices; }
  void lose(const std::string& uuid) {
    Inventory rest;
    for (const Device& device : inventory.devices) {
      if (device.uuid != uuid) rest.devices.push_back(device);
    }
    fake.set_inventory(rest);
  }
  void get_stuck() { hook("stuck", "sleep 60"); }

  void hook(const std::string& name, const std::string& body) const {
    std::ofstream(folder + "/" + name) << "#!/bin/sh\n" << body << "\n";
    chmod((folder + "/" + name).c_str(), 0755);
  }

  std::string folder;
  Inventory inventory = fake_inventory(2);
  FakeDevices fake{inventory};
  LocalChecksOptions options;
  std::optional<LocalChecks> local;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Local, ChecksConformance, LocalChecksHarness);

class LocalChecksTest : public testing::Test {
 protected:
  std::vector<CheckOutcome> run(CheckKind kind = CheckKind::kRetest, bool machine = false) {
    CheckOrder order{kind, machine, {here_.inventory.devices[0]}, here_.inventory.links};
    return here_.checks().run(order, stop_.get_token());
  }
  /// RETURNS: the outcome of one check of the run.
  CheckOutcome of(const std::string& check, CheckKind kind = CheckKind::kRetest,
                  bool machine = false) {
    for (const CheckOutcome& one : run(kind, machine)) {
      if (one.check == check) return one;
    }
    return {check, "", CheckVerdict::kUnknown, "was not run"};
  }

  LocalChecksHarness here_;
  std::stop_source stop_;
};

TEST_F(LocalChecksTest, names_who_holds_the_memory_of_a_device) {
  here_.fake.set_processes("fake-0", {{getpid(), gibibytes(3)}});
  const CheckOutcome memory = of("memory", CheckKind::kPreflight);
  EXPECT_EQ(memory.verdict, CheckVerdict::kCrit);
  EXPECT_THAT(memory.text, HasSubstr("(pid " + std::to_string(getpid()) + ", 3GiB)"));
}

// Complaint 23: a lost GPU still gets jobs, and they fail there.
TEST_F(LocalChecksTest, a_quick_look_that_is_seconds_old_hides_no_lost_device) {
  EXPECT_EQ(of("present", CheckKind::kPreflight).verdict, CheckVerdict::kOk);
  here_.lose("fake-0");
  const std::vector<CheckOutcome> outcomes = run(CheckKind::kPreflight);
  EXPECT_TRUE(std::any_of(outcomes.begin(), outcomes.end(), [](const CheckOutcome& one) {
    return one.check == "present" && one.verdict == CheckVerdict::kCrit;
  }));
}

TEST_F(LocalChecksTest, a_desktop_may_have_a_little_of_a_device) {
  here_.fake.set_processes("fake-0", {{getpid(), mebibytes(300)}, {1, mebibytes(212)}});
  EXPECT_EQ(of("memory").verdict, CheckVerdict::kOk) << "a 32nd of 16 GiB, together";
  here_.fake.set_processes("fake-0", {{getpid(), mebibytes(300)}, {1, mebibytes(213)}});
  EXPECT_EQ(of("memory").verdict, CheckVerdict::kCrit);
  here_.fake.set_processes("fake-0", {{getpid(), std::nullopt}});
  EXPECT_EQ(of("memory").verdict, CheckVerdict::kCrit) << "who knows how much";
}

TEST_F(LocalChecksTest, a_slot_that_was_narrow_from_the_start_is_no_news) {
  here_.inventory.links[0] = {0, 1, LinkKind::kPcie, 15'000, {}, 31'000};
  here_.fake.set_inventory(here_.inventory);
  EXPECT_EQ(of("links").verdict, CheckVerdict::kOk);
}

TEST_F(LocalChecksTest, a_lost_device_makes_no_link_of_the_others_ill) {
  here_.lose("fake-1");
  EXPECT_EQ(of("links").verdict, CheckVerdict::kNotCovered);
}

TEST_F(LocalChecksTest, warns_of_a_link_that_is_slower_than_seventy_percent) {
  here_.inventory.links[0].megabytes_per_s = 35'000;
  here_.fake.set_inventory(here_.inventory);
  EXPECT_EQ(of("links").verdict, CheckVerdict::kOk);
  here_.inventory.links[0].megabytes_per_s = 34'999;
  here_.fake.set_inventory(here_.inventory);
  EXPECT_EQ(of("links").verdict, CheckVerdict::kWarn);
  EXPECT_THAT(of("links").text, HasSubstr("gives 34999 of 50000 MB/s"));
}

TEST_F(LocalChecksTest, says_that_it_makes_no_accelerator_compute) {
  here_.inventory.devices[0].vendor = "nvidia";
  here_.fake.set_inventory(here_.inventory);
  EXPECT_EQ(of("compute").verdict, CheckVerdict::kNotCovered);
}

TEST_F(LocalChecksTest, a_hook_says_by_its_exit_code_how_it_is_and_by_its_first_line_why) {
  here_.hook("a", "echo; echo all well; echo more");
  here_.hook("b", "echo hot >&2; exit 1");
  here_.hook("c", "echo broken; exit 2");
  here_.hook("d", "echo what; exit 3");
  here_.hook("e", "kill -9 $$");
  EXPECT_EQ(of("a"), (CheckOutcome{"a", "fake-0", CheckVerdict::kOk, "all well"}));
  EXPECT_EQ(of("b"), (CheckOutcome{"b", "fake-0", CheckVerdict::kWarn, "hot"}));
  EXPECT_EQ(of("c"), (CheckOutcome{"c", "fake-0", CheckVerdict::kCrit, "broken"}));
  EXPECT_EQ(of("d").verdict, CheckVerdict::kUnknown);
  EXPECT_THAT(of("d").text, HasSubstr("ended with 3"));
  EXPECT_EQ(of("e").verdict, CheckVerdict::kUnknown);
  EXPECT_THAT(of("e").text, HasSubstr("signal 9"));
}

TEST_F(LocalChecksTest, a_hook_gets_its_device_and_nothing_of_our_environment) {
  setenv("KEIKO_SECRET", "x", 1);
  here_.hook("env", "echo $KEIKO_CHECK $KEIKO_DEVICE_UUID $KEIKO_DEVICE_INDEX $KEIKO_DEVICE_KIND "
                    "[$KEIKO_SECRET] $(pwd)");
  EXPECT_EQ(of("env").text, "retest fake-0 0 cpu [] /");
  unsetenv("KEIKO_SECRET");
}

TEST_F(LocalChecksTest, a_hook_of_the_machine_runs_once_and_only_where_the_machine_is_meant) {
  here_.hook("node-fans", "echo ${KEIKO_DEVICE_UUID:-none}");
  EXPECT_EQ(of("node-fans").text, "was not run");
  EXPECT_EQ(of("node-fans", CheckKind::kRetest, true),
            (CheckOutcome{"node-fans", "", CheckVerdict::kOk, "none"}));
}

TEST_F(LocalChecksTest, a_hook_that_takes_too_long_is_killed_with_all_that_it_started) {
  here_.options.preflight_limit = milliseconds(300);
  const std::string pids = here_.folder + "/.pid";
  here_.hook("slow", "sleep 300 & echo $! > " + pids + "; wait");
  const CheckOutcome slow = of("slow", CheckKind::kPreflight);
  EXPECT_EQ(slow.verdict, CheckVerdict::kUnknown);
  EXPECT_THAT(slow.text, HasSubstr("within 300ms"));
  pid_t pid = 0;
  std::ifstream(pids) >> pid;
  ASSERT_GT(pid, 0);
  // An orphan is reaped by somebody else; until then it is a zombie.
  const auto is_gone = [&] {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(stat, text);
    return text.empty() || text.find(") Z ") != std::string::npos;
  };
  for (int i = 0; i < 500 && !is_gone(); ++i) usleep(10'000);
  EXPECT_TRUE(is_gone());
}

TEST_F(LocalChecksTest, what_a_hook_leaves_behind_in_its_group_does_not_hold_us_up) {
  here_.hook("forks", "sleep 300 & echo done");
  EXPECT_EQ(of("forks").text, "done");
}

TEST_F(LocalChecksTest, a_hook_that_anybody_may_write_to_is_not_run) {
  here_.hook("open", "echo run");
  chmod((here_.folder + "/open").c_str(), 0757);
  EXPECT_EQ(of("open").verdict, CheckVerdict::kUnknown);
  EXPECT_THAT(of("open").text, HasSubstr("anybody may write"));
}

TEST_F(LocalChecksTest, a_program_of_the_owner_resets_a_device_which_is_looked_at_afterwards) {
  EXPECT_EQ(of(kResetCheck, CheckKind::kReset).verdict, CheckVerdict::kNotCovered);
  here_.local.reset();
  here_.hook(".reset", "echo $KEIKO_CHECK $KEIKO_DEVICE_UUID; exit 0");
  here_.hook("hook", "exit 2");
  here_.options.reset_program = here_.folder + "/.reset";
  EXPECT_EQ(of(kResetCheck, CheckKind::kReset),
            (CheckOutcome{kResetCheck, "fake-0", CheckVerdict::kOk, "reset fake-0"}));
  EXPECT_EQ(of("present", CheckKind::kReset).verdict, CheckVerdict::kOk);
  EXPECT_EQ(of("hook", CheckKind::kReset).text, "was not run") << "the re-test is another matter";
  here_.hook(".reset", "echo in use; exit 2");
  EXPECT_EQ(of(kResetCheck, CheckKind::kReset).verdict, CheckVerdict::kCrit);
  here_.hook(".reset", "exit 7");
  EXPECT_EQ(of(kResetCheck, CheckKind::kReset).verdict, CheckVerdict::kUnknown);
}

TEST_F(LocalChecksTest, only_executable_files_are_hooks) {
  here_.hook("plain", "exit 2");
  chmod((here_.folder + "/plain").c_str(), 0644);
  here_.hook(".hidden", "exit 2");
  here_.hook("old~", "exit 2");
  std::filesystem::create_directory(here_.folder + "/folder");
  EXPECT_TRUE(checks::find_hooks(here_.folder).empty());
  EXPECT_TRUE(checks::find_hooks("/no/such/folder").empty());
}

TEST(KnownProduct, is_what_plain_sums_say) {
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      int64_t sum = 0;
      for (int64_t k = 0; k < 5; ++k) sum += (i + k) * (k - j);
      EXPECT_EQ(checks::right_element(5, i, j), sum);
    }
  }
  EXPECT_EQ(checks::wrong_product(1), "");
  EXPECT_EQ(checks::wrong_product(256), "");
}

}  // namespace
}  // namespace keiko
