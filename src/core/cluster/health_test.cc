#include <gtest/gtest.h>

#include "core/cluster/cluster_fixture.h"

namespace keiko::cluster {
namespace {

SubjectHealth in_quarantine(HealthSubjectKind kind, const std::string& name) {
  SubjectHealth health;
  health.subject = {"", kind, name};
  health.level = "unhealthy";
  health.quarantined = true;
  health.cause = "xid_79";
  health.evidence = "it fell off the bus";
  health.sentence = "unhealthy: xid_79";
  return health;
}

/// Two nodes with two devices each, whose agents tell of their health.
class HealthOfNodes : public testing::Test {
 protected:
  HealthOfNodes() {
    pool_.join("a", 2);
    pool_.join("b", 2);
  }
  std::string uuid(const std::string& name, size_t index) {
    const State& state = pool_.state();
    return state.nodes.at(state.node_by_name.at(name)).spec.devices.at(index).uuid;
  }
  void tell(const std::string& name, HealthReport report) {
    pool_.feed(HealthReceived{pool_.agent(name).connection, std::move(report)});
    notes_ = pool_.all<Note>();
    pool_.feed(Wake{});
  }
  bool noted(const std::string& what) const {
    for (const Note& note : notes_) {
      if (note.name == what) return true;
    }
    return false;
  }

  void command(NodeAction action, const std::string& device) {
    const NodeId node = pool_.state().node_by_name.at("a");
    pool_.feed(Command{77, ActOnNode{node, action, "new cable", device, "ada"}});
  }
  /// RETURNS: what the agent of "a" is told.
  HealthOrder act(NodeAction action, const std::string& device) {
    command(action, device);
    for (const Send& send : pool_.all<Send>()) {
      if (const auto* order = std::get_if<HealthOrder>(&send.message.body)) return *order;
    }
    ADD_FAILURE() << "nothing was sent";
    return {};
  }
  Code refused(NodeAction action, const std::string& device) {
    command(action, device);
    for (const Reply& reply : pool_.all<Reply>()) {
      if (reply.request == 77 && !reply.result.ok()) return reply.result.error().code;
    }
    return Code::kOk;
  }

  TestPool pool_;
  std::vector<Note> notes_;
};

TEST_F(HealthOfNodes, gives_no_work_to_a_device_in_quarantine_until_it_is_released) {
  const HealthSubjectKind device = HealthSubjectKind::kDevice;
  tell("a", {{in_quarantine(device, uuid("a", 0))}, false, {}});
  EXPECT_TRUE(noted("quarantined"));
  tell("b",
       {{in_quarantine(device, uuid("b", 0)), in_quarantine(device, uuid("b", 1))}, false, {}});
  const JobId one = pool_.submit(job_spec(1, 1));
  EXPECT_EQ(pool_.node_of(one, 0), "a");
  EXPECT_EQ(pool_.job(one).workers[0].place.devices, (std::vector<int32_t>{1}));
  const JobId two = pool_.submit(job_spec(1, 1));
  EXPECT_EQ(pool_.job(two).status, JobStatus::kPending) << "three of four devices are ill";
  const Verdict verdict = pool_.brain().explain(two, pool_.now());
  ASSERT_FALSE(verdict.clauses.empty());
  EXPECT_NE(verdict.clauses[0].nearest.find("in quarantine"), std::string::npos)
      << verdict.clauses[0].nearest;
  tell("b", {});
  EXPECT_TRUE(noted("released"));
  EXPECT_EQ(pool_.node_of(two, 0), "b");
}

TEST_F(HealthOfNodes, a_node_in_quarantine_is_not_ready_and_says_why) {
  const NodeId a = pool_.state().node_by_name.at("a");
  const auto status = [&] { return to_text(pool_.brain().status_of(a, pool_.now())); };
  EXPECT_EQ(status() + pool_.brain().why_no_work(a), "READY");
  tell("a", {{in_quarantine(HealthSubjectKind::kDevice, uuid("a", 0))}, false, {}});
  EXPECT_EQ(status() + pool_.brain().why_no_work(a), "READY") << "its other device takes work";
  tell("a", {{in_quarantine(HealthSubjectKind::kNode, "")}, false, {}});
  EXPECT_EQ(status(), "QUARANTINED");
  EXPECT_TRUE(noted("node_seen"));
  EXPECT_EQ(pool_.brain().why_no_work(a), "it fell off the bus");
  const JobId two = pool_.submit(job_spec(2, 2));
  const Verdict verdict = pool_.brain().explain(two, pool_.now());
  EXPECT_EQ(verdict.clauses.at(0).nearest, "a, it fell off the bus");
  command(NodeAction::kCordon, "");
  EXPECT_EQ(status(), "CORDONED");
  EXPECT_EQ(pool_.brain().why_no_work(a), "new cable") << "an operator's word goes first";
  command(NodeAction::kUncordon, "");
  EXPECT_EQ(status(), "QUARANTINED") << "which does not make it well";
  tell("a", {});
  EXPECT_EQ(status() + pool_.brain().why_no_work(a), "READY");
}

TEST_F(HealthOfNodes, tells_a_change_once) {
  const HealthReport report{{in_quarantine(HealthSubjectKind::kDevice, uuid("a", 0))}, false, {}};
  tell("a", report);
  tell("a", report);
  EXPECT_FALSE(noted("quarantined"));
}

TEST_F(HealthOfNodes, moves_what_runs_on_a_node_that_asks_to_be_drained) {
  JobSpec spec = job_spec(1, 1);
  spec.infra_restarts = 0;
  const JobId job = pool_.submit(spec);
  pool_.runs(job);
  const std::string first = pool_.node_of(job, 0);
  tell(first, {{in_quarantine(HealthSubjectKind::kNode, "")}, true, {}});
  EXPECT_EQ(pool_.job(job).intent, StopIntent::kRequeue);
  pool_.ends(first, pool_.key(job, 0), EndCause::kStopped);
  pool_.feed(Wake{});
  EXPECT_NE(pool_.node_of(job, 0), first);
  EXPECT_EQ(pool_.job(job).infra_faults, 0);
}

TEST_F(HealthOfNodes, an_operators_word_goes_to_the_agent_by_the_devices_uuid) {
  tell("a", {{in_quarantine(HealthSubjectKind::kDevice, uuid("a", 1))}, false, {}});
  const HealthOrder clear = act(NodeAction::kClear, "1");
  EXPECT_EQ(clear.subject, (HealthSubject{"", HealthSubjectKind::kDevice, uuid("a", 1)}));
  EXPECT_EQ(clear.action, HealthAction::kClear);
  EXPECT_EQ(clear.who + " " + clear.why, "ada new cable");
  EXPECT_EQ(act(NodeAction::kCheck, uuid("a", 0)).subject.name, uuid("a", 0));
  EXPECT_EQ(act(NodeAction::kClear, "").subject.kind, HealthSubjectKind::kNode)
      << "all that is ill on it";
}

TEST_F(HealthOfNodes, what_is_well_strange_or_away_is_not_cleared) {
  EXPECT_EQ(refused(NodeAction::kClear, "0"), Code::kFailedPrecondition);
  EXPECT_EQ(refused(NodeAction::kClear, "7"), Code::kNotFound);
  EXPECT_EQ(refused(NodeAction::kCordon, "0"), Code::kInvalidArgument);
  pool_.feed(ConnectionClosed{pool_.agent("a").connection});
  EXPECT_EQ(refused(NodeAction::kCheck, "0"), Code::kUnavailable);
}

TEST_F(HealthOfNodes, a_lost_device_can_be_cleared_though_it_is_not_there) {
  tell("a", {{in_quarantine(HealthSubjectKind::kDevice, "gone")}, false, {}});
  EXPECT_EQ(act(NodeAction::kClear, "gone").subject.name, "gone");
}

TEST_F(HealthOfNodes, of_a_stranger_is_nobodys) {
  pool_.feed(HealthReceived{999, {{in_quarantine(HealthSubjectKind::kNode, "")}, true, {}}});
  EXPECT_EQ(pool_.all<Note>().size(), 0u);
}

}  // namespace
}  // namespace keiko::cluster
