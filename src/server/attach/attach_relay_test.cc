// Clients and agents that dial a whole server and meet in it.
#include <gtest/gtest.h>

#include "server/testing/test_agent.h"
#include "server/testing/test_server.h"
#include "wire/attach/attach_call.h"

namespace keiko::server {
namespace {

class AttachedAgent : public TestAgent {
 public:
  using TestAgent::TestAgent;
  void on_attach(v1::AttachOrder order) override {
    const std::lock_guard lock(mutex_);
    orders_.push_back(std::move(order));
  }
  /// Waits for the next order.
  v1::AttachOrder take_order() {
    v1::AttachOrder order;
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex_);
      if (orders_.empty()) return false;
      order = orders_.front();
      orders_.erase(orders_.begin());
      return true;
    }));
    return order;
  }

 private:
  std::mutex mutex_;
  std::vector<v1::AttachOrder> orders_;
};

v1::AttachFrame data_frame(const std::string& stream, const std::string& data) {
  v1::AttachFrame frame;
  frame.mutable_data()->set_stream(stream);
  frame.mutable_data()->set_data(data);
  return frame;
}

class AttachRelayTest : public testing::Test {
 protected:
  AttachRelayTest() : agent_(std::make_unique<AttachedAgent>("a", address())) {
    EXPECT_TRUE(eventually([&] { return agent_->welcomed(); }));
    EXPECT_TRUE(server_.client()->submit_job(submit_of("runs")).ok());
    EXPECT_TRUE(eventually([&] { return agent_->has_worker({JobId{1}, 1, 0}); }));
    EXPECT_TRUE(eventually([&] { return status_of(*server_.client(), "j1") == "RUNNING"; }));
  }

  std::string address() const { return server_.addresses().grpc; }
  std::unique_ptr<AttachCall> open(const std::string& job, int32_t rank = 0) {
    std::unique_ptr<AttachCall> call = dial_client_attach(address());
    v1::AttachFrame frame;
    frame.mutable_open()->set_job(job);
    frame.mutable_open()->set_rank(rank);
    frame.mutable_open()->add_argv("date");
    call->write(frame);
    return call;
  }
  std::unique_ptr<AttachCall> accept(const std::string& token) {
    std::unique_ptr<AttachCall> call = dial_agent_attach(address());
    v1::AttachFrame frame;
    frame.set_accept(token);
    call->write(frame);
    return call;
  }
  /// RETURNS: why a call that the server ends ended.
  static Error why_over(AttachCall& call) {
    v1::AttachFrame frame;
    while (call.read(frame)) ADD_FAILURE() << "nothing was to come: " << frame.DebugString();
    const Done finished = call.finish();
    return finished.ok() ? Error{Code::kOk, "", {}} : finished.error();
  }

  TestServer server_;
  std::unique_ptr<AttachedAgent> agent_;
};

TEST_F(AttachRelayTest, joins_a_client_and_the_workers_agent_and_passes_frames_both_ways) {
  const auto client = open("j1");
  const v1::AttachOrder order = agent_->take_order();
  EXPECT_EQ(order.key().job(), 1u);
  EXPECT_EQ(order.key().attempt(), 1);
  EXPECT_EQ(order.open().argv(0), "date");
  const auto agent = accept(order.token());
  v1::AttachFrame frame;
  for (const char* text : {"one", "two", "three"}) {
    ASSERT_TRUE(client->write(data_frame("in", text)));
    ASSERT_TRUE(agent->read(frame));
    EXPECT_EQ(frame.data().data(), text);
    ASSERT_TRUE(agent->write(data_frame("out", std::string(text) + " back")));
    ASSERT_TRUE(client->read(frame));
    EXPECT_EQ(frame.data().data(), std::string(text) + " back");
  }
  v1::AttachFrame end;
  end.mutable_end()->set_exit_code(7);
  ASSERT_TRUE(agent->write(end));
  agent->writes_done();
  ASSERT_TRUE(client->read(frame));
  EXPECT_EQ(frame.end().exit_code(), 7);
  EXPECT_EQ(why_over(*client).code, Code::kOk);
}

TEST_F(AttachRelayTest, tokens_are_long_differ_and_serve_once) {
  const auto first = open("j1");
  const std::string token = agent_->take_order().token();
  const auto second = open("j1");
  const std::string other = agent_->take_order().token();
  EXPECT_EQ(token.size(), 32u);
  EXPECT_NE(token, other);
  const auto agent = accept(token);
  ASSERT_TRUE(agent->write(data_frame("out", "x")));
  v1::AttachFrame frame;
  ASSERT_TRUE(first->read(frame));
  EXPECT_EQ(why_over(*accept(token)).code, Code::kNotFound) << "somebody has it already";
  EXPECT_EQ(why_over(*accept("guessed")).code, Code::kNotFound);
  first->cancel();
  second->cancel();
  agent->cancel();
  for (const auto* call : {&first, &second, &agent}) (void)(*call)->finish();
}

TEST_F(AttachRelayTest, a_worker_that_does_not_run_is_named_with_what_to_do) {
  const Error unknown = why_over(*open("j9"));
  EXPECT_EQ(unknown.code, Code::kNotFound) << unknown.message;
  const Error rank = why_over(*open("j1", 3));
  EXPECT_EQ(rank.code, Code::kInvalidArgument);
  EXPECT_NE(rank.message.find("its ranks are 0 to 0"), std::string::npos) << rank.message;
  ASSERT_TRUE(server_.client()->submit_job(submit_of("waits", 4)).ok());
  ASSERT_TRUE(server_.client()->submit_job(submit_of("waits", 4)).ok());
  const Error waits = why_over(*open("j3"));
  EXPECT_EQ(waits.code, Code::kFailedPrecondition);
  EXPECT_NE(waits.message.find("keiko why j3"), std::string::npos) << waits.message;
  agent_->end_worker({JobId{1}, 1, 0}, 0);
  ASSERT_TRUE(eventually([&] { return status_of(*server_.client(), "j1") == "COMPLETED"; }));
  const Error over = why_over(*open("j1"));
  EXPECT_EQ(over.code, Code::kFailedPrecondition);
  EXPECT_NE(over.message.find("keiko logs j1"), std::string::npos) << over.message;
}

TEST_F(AttachRelayTest, a_first_frame_that_opens_nothing_is_refused) {
  const auto call = dial_client_attach(address());
  call->write(data_frame("in", "x"));
  EXPECT_EQ(why_over(*call).code, Code::kInvalidArgument);
}

TEST_F(AttachRelayTest, an_agent_that_hangs_up_is_told_to_the_client) {
  const auto client = open("j1");
  const auto agent = accept(agent_->take_order().token());
  ASSERT_TRUE(agent->write(data_frame("out", "x")));
  v1::AttachFrame frame;
  ASSERT_TRUE(client->read(frame));
  agent->cancel();
  (void)agent->finish();
  const Error why = why_over(*client);
  EXPECT_EQ(why.code, Code::kUnavailable);
  EXPECT_NE(why.message.find("the agent of node a is gone"), std::string::npos) << why.message;
}

TEST_F(AttachRelayTest, a_client_that_leaves_ends_the_agents_call) {
  const auto client = open("j1");
  const auto agent = accept(agent_->take_order().token());
  ASSERT_TRUE(client->write(data_frame("in", "x")));
  v1::AttachFrame frame;
  ASSERT_TRUE(agent->read(frame));
  client->cancel();
  (void)client->finish();
  EXPECT_FALSE(agent->read(frame));
  EXPECT_FALSE(agent->finish().ok());
}

TEST_F(AttachRelayTest, a_node_without_its_agent_is_named) {
  agent_->drop();
  ASSERT_TRUE(eventually([&] {
    v1::GetNodeRequest request;
    request.set_node("a");
    const auto node = server_.client()->get_node(request);
    return node.ok() && !node->connected();
  }));
  const Error why = why_over(*open("j1"));
  EXPECT_EQ(why.code, Code::kUnavailable);
  EXPECT_NE(why.message.find("node a, where the worker runs, does not answer"),
            std::string::npos)
      << why.message;
}

}  // namespace
}  // namespace keiko::server
