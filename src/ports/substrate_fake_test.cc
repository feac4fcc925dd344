#include "ports/substrate_fake.h"

#include <gtest/gtest.h>
#include <sys/un.h>

#include <optional>

#include "ports/substrate_conformance.h"

namespace keiko {
namespace {

class FakeSubstrateHarness : public SubstrateHarness {
 public:
  FakeSubstrateHarness() {
    machine_.install("deaf", {.output = "deaf\n", .ignores_term = true});
    reopen();
  }
  Substrate& substrate() override { return *substrate_; }
  void crash() override { substrate_.reset(); }
  void reopen() override { substrate_.emplace(machine_); }
  void let_time_pass() override { machine_.advance(); }
  std::vector<std::string> argv(SubstrateProgram program) override {
    switch (program) {
      case SubstrateProgram::kSleep: return {"sleep"};
      case SubstrateProgram::kExit3: return {"exit", "3"};
      case SubstrateProgram::kIgnoreTerm: return {"deaf"};
      case SubstrateProgram::kPrint: return {"print", "hello\n"};
      case SubstrateProgram::kMissing: return {"no-such-program"};
    }
    return {};
  }
  std::string output(const WorkerKey& key) override { return machine_.output(key); }
  void kill_keeper(const WorkerKey& key) override { machine_.vanish(key); }
  std::string hang(const WorkerKey& key) override {
    machine_.hang(key);
    return {};
  }
  void unhang(const WorkerKey& key) override { machine_.unhang(key); }

 private:
  FakeMachine machine_;
  std::optional<FakeSubstrate> substrate_;
};

std::unique_ptr<SubstrateHarness> make_fake_harness() {
  return std::make_unique<FakeSubstrateHarness>();
}
INSTANTIATE_TEST_SUITE_P(Fake, SubstrateConformance, testing::Values(&make_fake_harness));

TEST(FakeSubstrate, lets_a_program_vanish_by_its_script) {
  FakeMachine machine;
  FakeSubstrate substrate(machine);
  WorkerProcess process;
  process.key = {JobId{1}, 1, 0};
  process.argv = {"vanish"};
  ASSERT_TRUE(substrate.start(process).ok());
  machine.advance();
  EXPECT_EQ(substrate.poll()[0].status, WorkerStatus::kRunning);
  machine.advance();
  EXPECT_EQ(substrate.poll()[0].end.cause, EndCause::kVanished);
}

TEST(WorkerPaths, lie_where_the_contract_says) {
  const WorkerPaths paths = worker_paths("/s", {JobId{7}, 1, 0});
  EXPECT_EQ(paths.folder, "/s/workers/j7.1.0");
  EXPECT_EQ(paths.out, "/s/logs/j7/1/0.out");
  EXPECT_EQ(paths.err, "/s/logs/j7/1/0.err");
  EXPECT_EQ(paths.socket, "/s/workers/j7.1.0/socket");
}

TEST(WorkerPaths, keep_the_socket_short_enough_to_bind_under_any_state_directory) {
  const std::string deep = "/" + std::string(300, 'x');
  const WorkerPaths paths = worker_paths(deep, {JobId{7}, 1, 0});
  EXPECT_LT(paths.socket.size(), sizeof(sockaddr_un::sun_path));
  EXPECT_EQ(paths.socket, worker_paths(deep, {JobId{7}, 1, 0}).socket);
  EXPECT_NE(paths.socket, worker_paths(deep, {JobId{7}, 1, 1}).socket);
}

}  // namespace
}  // namespace keiko
