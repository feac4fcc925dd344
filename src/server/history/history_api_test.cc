// The history of a whole server, by gRPC and HTTP.
#include "ports/history/history_fake.h"
#include "server/testing/test_agent.h"

#include "keiko/v1/agent.grpc.pb.h"
#include "wire/channel.h"
#include "wire/convert.h"

namespace keiko::server {
namespace {

class HistoryApi : public testing::Test {
 protected:
  HistoryApi() {
    ServerOptions options;
    options.history_store = &history_;
    server_ = std::make_unique<TestServer>(std::make_shared<FakeJournalDisk>(), options);
    client_ = server_->client();
  }

  Result<v1::GetHistoryResponse> ask(const std::string& node, const std::string& device = {}) {
    v1::GetHistoryRequest request;
    request.set_node(node);
    request.set_device(device);
    request.add_metrics("power_watts");
    return client_->get_history(request);
  }

  static std::vector<Reading> watts(double value) {
    return {{{SubjectKind::kDevice, "node1-2"}, {{"power_watts", value}}}};
  }

  FakeHistory history_{std::make_shared<FakeHistoryDisk>()};
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(HistoryApi, what_an_agent_tells_is_kept_and_told_by_device) {
  TestAgent agent("node1", server_->addresses().grpc);
  ASSERT_TRUE(eventually([&] { return agent.welcomed(); }));
  ASSERT_TRUE(eventually([&] { return agent.tell(watts(300)); }));
  ASSERT_TRUE(eventually([&] { return agent.tell(watts(500)); })) << "the stream stays busy";
  ASSERT_TRUE(eventually([&] {
    const auto history = ask("node1", "2");
    return history.ok() && history->series_size() == 1 &&
           history->series(0).points(0).max() == 500;
  }));
  const v1::GetHistoryResponse history = MUST(ask("node1"));
  ASSERT_EQ(history.series_size(), 1);
  EXPECT_EQ(history.series(0).device(), "node1-2");
  EXPECT_EQ(history.series(0).index(), 2);
  EXPECT_EQ(history.series(0).metric(), "power_watts");
  EXPECT_EQ(from_proto(history.series(0).points(0).at()).ns % seconds(10).ns, 0);
  EXPECT_EQ(MUST(ask("node1", "node1-2")).series_size(), 1);
}

TEST_F(HistoryApi, a_node_that_is_gone_still_has_its_past) {
  {
    TestAgent agent("node1", server_->addresses().grpc);
    ASSERT_TRUE(eventually([&] { return agent.welcomed(); }));
    ASSERT_TRUE(eventually([&] { return agent.tell(watts(300)); }));
    ASSERT_TRUE(eventually([&] { return MUST(ask("node1")).series_size() == 1; }));
  }
  EXPECT_EQ(MUST(ask("node1")).series(0).points(0).mean(), 300);
}

TEST_F(HistoryApi, unknown_nodes_and_devices_and_senseless_spans_are_named) {
  TestAgent agent("node1", server_->addresses().grpc);
  ASSERT_TRUE(eventually([&] { return agent.welcomed(); }));
  EXPECT_EQ(ask("node2").error().code, Code::kNotFound);
  const auto device = ask("node1", "9");
  ASSERT_FALSE(device.ok());
  EXPECT_NE(device.error().message.find("has no device \"9\""), std::string::npos);
  v1::GetHistoryRequest request;
  request.set_node("node1");
  set_proto(*request.mutable_since(), minutes(5));
  set_proto(*request.mutable_until(), minutes(6));
  EXPECT_EQ(client_->get_history(request).error().code, Code::kInvalidArgument);
}

TEST_F(HistoryApi, without_a_store_it_says_so) {
  TestServer bare;
  const auto asked = bare.client()->get_history({});
  ASSERT_FALSE(asked.ok());
  EXPECT_EQ(asked.error().code, Code::kFailedPrecondition);
}

/// A message of a kind that comes with some later version: field 900, length-delimited.
v1::AgentMessage of_the_future() {
  v1::AgentMessage message;
  EXPECT_TRUE(message.ParseFromString("\xa2\x38\x03" "new"));
  EXPECT_EQ(message.body_case(), v1::AgentMessage::BODY_NOT_SET);
  return message;
}

TEST_F(HistoryApi, a_newer_agent_s_unknown_message_does_not_end_its_stream) {
  const auto stub = v1::AgentService::NewStub(
      make_channel(server_->addresses().grpc, {seconds(10), seconds(20), seconds(10)}));
  grpc::ClientContext context;
  const auto stream = stub->Session(&context);
  NodeSpec node;
  node.name = "newer";
  node.instance = "instance-of-newer";
  node.address = "127.0.0.1";
  node.cpu_milli = 1000;
  node.memory = gibibytes(1);
  ASSERT_TRUE(stream->Write(of_the_future()));
  v1::AgentMessage hello;
  *hello.mutable_hello() = to_proto(AgentHello{node, {}});
  ASSERT_TRUE(stream->Write(hello));
  v1::ServerMessage answer;
  ASSERT_TRUE(stream->Read(&answer)) << "the stream was ended";
  EXPECT_TRUE(answer.has_welcome());
  ASSERT_TRUE(stream->Write(of_the_future()));
  v1::AgentMessage readings;
  readings.mutable_readings()->mutable_node()->set_load_1m(7);
  ASSERT_TRUE(stream->Write(readings));
  v1::GetHistoryRequest request;
  request.set_node("newer");
  EXPECT_TRUE(eventually([&] { return MUST(client_->get_history(request)).series_size() == 1; }));
  context.TryCancel();
  (void)stream->Finish();
}

}  // namespace
}  // namespace keiko::server
