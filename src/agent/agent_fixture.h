// An agent on a fake machine with a fake clock and a fake server, turned by hand. For tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent_loop.h"
#include "agent/fake_link.h"
#include "base/log.h"
#include "ports/clock_fake.h"
#include "ports/devices_fake.h"
#include "ports/substrate_fake.h"
#include "ports/testing/host_fake.h"

namespace keiko::agent {

inline constexpr WorkerKey kKey{JobId{7}, 1, 0};

class AgentFixture : public testing::Test {
 protected:
  void SetUp() override {
    set_log_level(LogLevel::kOff);
    std::string pattern = testing::TempDir() + "keiko_agent_XXXXXX";
    state_dir_ = mkdtemp(pattern.data());
    options_.server = "server:7070";
    options_.name = "a";
    options_.address = "10.0.0.1";
    options_.base_env = {{"PATH", "/usr/bin"}};
    start_agent();
  }
  void TearDown() override {
    crash_agent();
    std::filesystem::remove_all(state_dir_);
    set_log_level(LogLevel::kInfo);
  }

  void start_agent() {
    folder_.emplace(MUST(StateFolder::open(state_dir_)));
    substrate_ = std::make_unique<FakeSubstrate>(machine_);
    AgentParts parts{*folder_, *substrate_, devices_, clock_, [this](AgentListener& listener) {
                       auto link = std::make_unique<FakeAgentLink>(listener);
                       link_ = link.get();
                       return link;
                     }, &host_};
    parts.make_checks = make_checks_;
    parts.usable_cores = usable_cores_;
    loop_ = MUST(AgentLoop::open(options_, parts));
  }
  void crash_agent() {
    loop_.reset();
    substrate_.reset();
    folder_.reset();
  }
  bool turn() { return loop_->turn(Duration{}); }
  void pass(Duration duration) {
    clock_.advance(duration);
    turn();
  }
  /// The machine's workers do a step, and the agent looks.
  void advance() {
    machine_.advance();
    turn();
  }
  void say(ServerBody body) {
    link_->say({session_, ++sequence_, std::move(body)});
    turn();
  }
  void join() {
    turn();
    link_->connect();
    turn();
    ++session_.number;
    sequence_ = 0;
    say(Welcome{NodeId{1}, LeaseOptions{}});
  }
  /// A second passes; the server hears of it and answers.
  void beat() {
    pass(seconds(1));
    say(ReportAck{link_->reports.back().sequence});
  }
  static WorkerLaunch launch_of(std::vector<std::string> command) {
    WorkerLaunch launch;
    launch.key = kKey;
    launch.command = std::move(command);
    launch.node_addresses = {"10.0.0.1"};
    launch.ranks_per_node = {1};
    launch.master_address = "10.0.0.1";
    launch.grace = seconds(30);
    return launch;
  }
  void start_worker(std::vector<std::string> command) {
    say(StartWorker{launch_of(std::move(command))});
    turn();
  }
  WorkerReport last_report() const {
    if (link_->reports.empty() || link_->reports.back().workers.empty()) return {};
    return link_->reports.back().workers.back();
  }
  /// RETURNS: what was told last of a subject's health; healthy if nothing was.
  SubjectHealth told_of(const std::string& name) const {
    if (link_->health.empty()) return {};
    for (const SubjectHealth& one : link_->health.back().subjects) {
      if (one.subject.name == name) return one;
    }
    return {};
  }

  std::string state_dir_;
  MakeChecks make_checks_;  ///< none: nothing is checked
  std::function<std::vector<int32_t>()> usable_cores_;  ///< none: those of this process
  AgentOptions options_;
  FakeMachine machine_;
  FakeDevices devices_{fake_inventory(2)};
  FakeHost host_{fake_host()};
  FakeClock clock_{Time{} + seconds(1'000'000)};
  std::optional<StateFolder> folder_;
  std::unique_ptr<FakeSubstrate> substrate_;
  std::unique_ptr<AgentLoop> loop_;
  FakeAgentLink* link_ = nullptr;
  Session session_{1, 0};
  uint64_t sequence_ = 0;
};

}  // namespace keiko::agent
