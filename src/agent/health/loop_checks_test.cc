// Checks as the server and an operator see them: what starts, what does not, and what comes back.
#include <gmock/gmock.h>
#include <poll.h>

#include <algorithm>
#include <csignal>

#include "agent/agent_fixture.h"
#include "ports/testing/checks_fake.h"

namespace keiko::agent {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

/// Both lanes ask the test's one fake.
class Shared : public Checks {
 public:
  explicit Shared(FakeChecks& checks) : checks_(checks) {}
  std::vector<CheckOutcome> run(const CheckOrder& order, const std::stop_token& stop) override {
    return checks_.run(order, stop);
  }

 private:
  FakeChecks& checks_;
};

class LoopChecksTest : public AgentFixture {
 protected:
  void SetUp() override {
    make_checks_ = [this] { return std::make_unique<Shared>(checks_); };
    AgentFixture::SetUp();
    join();
  }
  void start_on(size_t device, std::vector<std::string> command = {"sleep"}) {
    WorkerLaunch launch = launch_of(std::move(command));
    launch.devices = {fake_inventory(2).devices[device]};
    say(StartWorker{launch});
  }
  /// Turns until it is so; the checks run on threads of their own.
  template <class Condition>
  bool turn_until(Condition condition) {
    for (int i = 0; i < 5000; ++i) {
      if (condition()) return true;
      turn();
      poll(nullptr, 0, 1);
    }
    return condition();
  }
  bool is_quarantined(const std::string& uuid) const { return told_of(uuid).quarantined; }
  /// RETURNS: how many checks of this kind were made.
  long made(CheckKind kind) const {
    const std::vector<CheckOrder> orders = checks_.orders();
    return std::count_if(orders.begin(), orders.end(),
                         [&](const CheckOrder& order) { return order.kind == kind; });
  }
  bool has_started() { return !substrate_->poll().empty(); }
  static CheckOutcome crit() { return {"memory", "", CheckVerdict::kCrit, "held by pid 9"}; }

  FakeChecks checks_;
};

TEST_F(LoopChecksTest, a_worker_starts_once_its_device_and_machine_were_found_well) {
  checks_.hold(true);
  start_on(0);
  EXPECT_TRUE(turn_until([&] { return made(CheckKind::kPreflight) == 1; }));
  EXPECT_FALSE(has_started());
  checks_.hold(false);
  EXPECT_TRUE(turn_until([&] { return has_started(); }));
  const CheckOrder order = checks_.orders().at(0);
  EXPECT_TRUE(order.machine);
  ASSERT_THAT(order.devices, SizeIs(1));
  EXPECT_EQ(order.devices[0].uuid, "fake-0");
}

TEST_F(LoopChecksTest, a_device_that_fails_is_quarantined_before_its_worker_is_told_as_ended) {
  checks_.find("fake-0", crit());
  start_on(0);
  EXPECT_TRUE(turn_until([&] { return last_report().status == WorkerStatus::kEnded; }));
  EXPECT_EQ(last_report().end.cause, EndCause::kNotWell);
  EXPECT_THAT(last_report().end.last_words, HasSubstr("held by pid 9"));
  EXPECT_TRUE(is_quarantined("fake-0"));
  EXPECT_FALSE(is_quarantined("fake-1"));
  EXPECT_FALSE(has_started()) << "the user's program never ran there";
}

TEST_F(LoopChecksTest, a_device_in_quarantine_takes_no_worker_even_if_the_server_sends_one) {
  checks_.find("fake-0", crit());
  start_on(0);
  ASSERT_TRUE(turn_until([&] { return is_quarantined("fake-0"); }));
  say(ForgetWorker{kKey});
  const long before = made(CheckKind::kPreflight);
  start_on(0);
  EXPECT_EQ(last_report().end.cause, EndCause::kNotWell);
  EXPECT_THAT(last_report().end.last_words, HasSubstr("in quarantine"));
  EXPECT_EQ(made(CheckKind::kPreflight), before);
}

// Complaint 23: a lost GPU still gets jobs, and they fail there.
TEST_F(LoopChecksTest, a_device_that_falls_ill_while_it_is_checked_takes_no_worker) {
  checks_.hold(true);
  start_on(0);
  ASSERT_TRUE(turn_until([&] { return made(CheckKind::kPreflight) == 1; }));
  devices_.add_fault({"fake-0", FaultKind::kXid, 95, WallTime{}, "XID 95"});
  pass(seconds(1));
  ASSERT_TRUE(is_quarantined("fake-0"));
  checks_.hold(false);
  EXPECT_TRUE(turn_until([&] { return last_report().status == WorkerStatus::kEnded; }));
  EXPECT_EQ(last_report().end.cause, EndCause::kNotWell);
  EXPECT_THAT(last_report().end.last_words, HasSubstr("xid_95"));
  EXPECT_FALSE(has_started());
}

TEST_F(LoopChecksTest, a_device_that_is_gone_at_the_start_is_no_fault_of_the_program) {
  const Inventory both = fake_inventory(2);
  devices_.set_inventory({{both.devices[1]}, {}});
  start_on(0);
  EXPECT_TRUE(turn_until([&] { return last_report().status == WorkerStatus::kEnded; }));
  EXPECT_EQ(last_report().end.cause, EndCause::kNotWell);
  EXPECT_THAT(last_report().end.last_words, HasSubstr("fake-0"));
  EXPECT_TRUE(is_quarantined("fake-0"));
  EXPECT_FALSE(is_quarantined("fake-1"));
}

TEST_F(LoopChecksTest, a_driver_that_does_not_answer_at_the_start_is_the_nodes_fault) {
  checks_.hold(true);
  start_on(0);
  ASSERT_TRUE(turn_until([&] { return made(CheckKind::kPreflight) == 1; }));
  devices_.fail_with({Code::kUnavailable, "the driver is away", {}});
  checks_.hold(false);
  EXPECT_TRUE(turn_until([&] { return last_report().status == WorkerStatus::kEnded; }));
  EXPECT_EQ(last_report().end.cause, EndCause::kNodeFailed);
}

TEST_F(LoopChecksTest, a_warning_or_no_answer_lets_a_worker_start) {
  checks_.find("fake-0", {"fans", "", CheckVerdict::kUnknown, "it did not end"});
  start_on(0);
  EXPECT_TRUE(turn_until([&] { return has_started(); }));
  pass(seconds(1));
  EXPECT_FALSE(is_quarantined("fake-0"));
}

TEST_F(LoopChecksTest, a_worker_that_is_stopped_while_it_is_checked_never_starts) {
  checks_.hold(true);
  start_on(0);
  ASSERT_TRUE(turn_until([&] { return made(CheckKind::kPreflight) == 1; }));
  say(StopWorker{kKey, seconds(5), "not wanted"});
  turn();
  EXPECT_EQ(last_report().status, WorkerStatus::kEnded);
  EXPECT_EQ(last_report().end.cause, EndCause::kStopped);
  checks_.hold(false);
  for (int i = 0; i < 50; ++i) {
    turn();
    poll(nullptr, 0, 1);
  }
  EXPECT_FALSE(has_started());
}

TEST_F(LoopChecksTest, peers_hear_of_the_port_of_rank_0_before_its_checks_are_over) {
  checks_.hold(true);
  start_on(0);
  turn();
  EXPECT_GT(last_report().master_port, 0);
  EXPECT_FALSE(has_started());
  checks_.hold(false);
  const int32_t told = last_report().master_port;
  EXPECT_TRUE(turn_until([&] { return has_started(); }));
  advance();
  EXPECT_EQ(last_report().master_port, told);
}

TEST_F(LoopChecksTest, a_quarantined_device_comes_back_by_a_retest_on_probation) {
  checks_.find("fake-0", crit());
  start_on(0);
  ASSERT_TRUE(turn_until([&] { return is_quarantined("fake-0"); }));
  say(ForgetWorker{kKey});
  for (int i = 0; i < 31; ++i) beat();
  ASSERT_TRUE(turn_until([&] { return made(CheckKind::kRetest) == 1; }));
  for (int i = 0; i < 59; ++i) beat();
  EXPECT_TRUE(is_quarantined("fake-0")) << "it failed again";
  checks_.find("fake-0", {"memory", "", CheckVerdict::kOk, "nobody holds it"});
  const auto is_back = [&] {
    beat();
    return !is_quarantined("fake-0");
  };
  EXPECT_TRUE(turn_until(is_back));
  EXPECT_TRUE(told_of("fake-0").on_probation);
  EXPECT_GT(told_of("fake-0").lemon_millionths, 0) << "its past is remembered";
  EXPECT_EQ(told_of("").level, "healthy") << "and that of its node, which was never ill";
  EXPECT_GT(told_of("").lemon_millionths, 0);
  start_on(0);
  EXPECT_TRUE(turn_until([&] { return has_started(); }));
}

TEST_F(LoopChecksTest, an_operator_has_it_tested_at_once_or_clears_it) {
  checks_.find("fake-0", crit());
  start_on(0);
  ASSERT_TRUE(turn_until([&] { return is_quarantined("fake-0"); }));
  const HealthSubject device{"", HealthSubjectKind::kDevice, "fake-0"};
  say(HealthOrder{device, HealthAction::kCheck, "ada", ""});
  EXPECT_TRUE(turn_until([&] { return made(CheckKind::kRetest) == 1; }));
  EXPECT_TRUE(is_quarantined("fake-0"));
  say(HealthOrder{device, HealthAction::kClear, "ada", "new cable"});
  EXPECT_FALSE(is_quarantined("fake-0"));
  const IncidentRecord& incident = link_->health.back().incidents.at(0);
  EXPECT_EQ(incident.ended_by, "an operator cleared it: ada: new cable");
}

TEST_F(LoopChecksTest, what_telemetry_reads_is_judged) {
  loop_->send_readings({{{SubjectKind::kDevice, "fake-1"}, {{"row_remap_failed", 1.0}}}});
  beat();
  EXPECT_TRUE(is_quarantined("fake-1"));
  EXPECT_EQ(told_of("fake-1").owner, "vendor");
}

TEST_F(LoopChecksTest, nothing_is_tested_beside_a_worker_also_one_that_was_adopted) {
  start_on(0);
  ASSERT_TRUE(turn_until([&] { return has_started(); }));
  advance();
  crash_agent();
  start_agent();
  join();
  const HealthSubject device{"", HealthSubjectKind::kDevice, "fake-0"};
  say(HealthOrder{device, HealthAction::kCheck, "ada", ""});
  for (int i = 0; i < 20; ++i) beat();
  EXPECT_EQ(made(CheckKind::kRetest), 0);
  say(StopWorker{kKey, seconds(5), "enough"});
  advance();
  beat();
  EXPECT_TRUE(turn_until([&] {
    advance();
    beat();
    return made(CheckKind::kRetest) == 1;
  }));
}

TEST_F(LoopChecksTest, a_worker_that_wants_a_device_ends_the_test_of_it) {
  checks_.hold(true);
  say(HealthOrder{{"", HealthSubjectKind::kDevice, "fake-0"}, HealthAction::kCheck, "ada", ""});
  ASSERT_TRUE(turn_until([&] { return made(CheckKind::kRetest) == 1; }));
  start_on(0);
  checks_.hold(false);
  EXPECT_TRUE(turn_until([&] { return has_started(); }));
}

/// A worker on fake-0 that was told to stop and hangs in the kernel, until it is given up.
class HangingWorkerTest : public LoopChecksTest {
 protected:
  void hang() {
    start_on(0);
    ASSERT_TRUE(turn_until([&] { return has_started(); }));
    advance();
    machine_.hang(kKey);
    say(StopWorker{kKey, seconds(1), "cancelled"});
    for (int i = 0; i < 5; ++i) beat();
    EXPECT_EQ(last_report().status, WorkerStatus::kStopping);
    EXPECT_FALSE(is_quarantined("fake-0")) << "it may only be slow";
    const size_t told = link_->health.size();
    for (int i = 0; i < 20 && last_report().status != WorkerStatus::kEnded; ++i) beat();
    ASSERT_EQ(last_report().status, WorkerStatus::kEnded);
    EXPECT_EQ(link_->health.size(), told + 1);
  }
};

// Complaint 30 once more: the slot is not pinned, and the device is not given away.
TEST_F(HangingWorkerTest, is_given_up_and_its_device_is_in_quarantine) {
  hang();
  EXPECT_EQ(last_report().end.cause, EndCause::kStopped);
  EXPECT_THAT(last_report().end.last_words, HasSubstr("waits in the kernel"));
  EXPECT_TRUE(is_quarantined("fake-0"));
  EXPECT_FALSE(is_quarantined("fake-1"));
  const SubjectHealth told = told_of("fake-0");
  EXPECT_EQ(told.cause, "dstate_process");
  EXPECT_THAT(told.evidence, HasSubstr("it belongs to worker j7.1.0"));
  say(ForgetWorker{kKey});
  beat();
  EXPECT_THAT(substrate_->poll(), SizeIs(1)) << "it is there, and can be found after a restart";
  EXPECT_THAT(link_->reports.back().workers, testing::IsEmpty());
}

TEST_F(HangingWorkerTest, gives_its_device_back_by_a_test_once_it_is_gone) {
  hang();
  say(ForgetWorker{kKey});
  for (int i = 0; i < 120; ++i) beat();
  EXPECT_EQ(made(CheckKind::kRetest), 0) << "nothing is tested beside it";
  machine_.unhang(kKey);
  advance();
  EXPECT_TRUE(turn_until([&] {
    beat();
    return made(CheckKind::kRetest) == 1 && !is_quarantined("fake-0");
  }));
  EXPECT_TRUE(told_of("fake-0").on_probation);
  EXPECT_EQ(last_report().status, WorkerStatus::kEnded) << "its real end is told once more";
  say(ForgetWorker{kKey});
  EXPECT_THAT(substrate_->poll(), testing::IsEmpty());
}

TEST_F(HangingWorkerTest, is_given_up_again_by_the_agent_after_this_one) {
  hang();
  say(ForgetWorker{kKey});
  crash_agent();
  start_agent();
  join();
  ASSERT_THAT(link_->hellos.back().workers, SizeIs(1));
  EXPECT_TRUE(is_quarantined("fake-0"));
  say(StopWorker{kKey, {}, "it is not wanted here"});
  for (int i = 0; i < 20 && last_report().status != WorkerStatus::kEnded; ++i) beat();
  EXPECT_EQ(last_report().status, WorkerStatus::kEnded);
  EXPECT_TRUE(is_quarantined("fake-0"));
}

}  // namespace
}  // namespace keiko::agent
