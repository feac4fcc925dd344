#include "wire/agent_client.h"

#include <grpc/grpc.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "keiko/v1/agent.grpc.pb.h"
#include "wire/session_mark.h"

namespace keiko {
namespace {

/// Counts the streams that ended.
class Counting : public AgentListener {
 public:
  void on_connected() override {
    const std::lock_guard lock(mutex_);
    connected_ = true;
    changed_.notify_all();
  }
  void on_message(ServerMessage) override {}
  void on_log_read(LogRead) override {}
  void on_log_cancel(uint64_t) override {}
  void on_closed(Error) override {
    const std::lock_guard lock(mutex_);
    ++closed_;
    changed_.notify_all();
  }
  void wait_for_connection() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return connected_; });
  }
  void wait_for(int closed) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ >= closed; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int closed_ = 0;
  bool connected_ = false;
};

using Stream = grpc::ServerReaderWriter<v1::ServerMessage, v1::AgentMessage>;

/// A server that opens every stream and reads nothing until it is told to.
class DeafServer : public v1::AgentService::Service {
 public:
  DeafServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~DeafServer() override {
    listen_now();
    server_->Shutdown(std::chrono::system_clock::now());
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void listen_now() {
    const std::lock_guard lock(mutex_);
    listening_ = true;
    changed_.notify_all();
  }
  grpc::Status Session(grpc::ServerContext* context, Stream* stream) override {
    context->AddInitialMetadata(kSessionMark, "1");
    stream->SendInitialMetadata();
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return listening_; });
    }
    v1::AgentMessage message;
    while (stream->Read(&message)) {
    }
    return grpc::Status::OK;
  }

 private:
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool listening_ = false;
  std::unique_ptr<grpc::Server> server_;
};

/// Bytes of the heap in use; 0 where a sanitizer has replaced the allocator.
size_t heap_bytes() { return mallinfo2().uordblks; }

TEST(AgentLink, dialling_a_server_that_is_away_for_long_costs_no_memory) {
  Counting listener;
  const auto link = make_agent_link(listener);
  size_t before = 0;
  for (int dial = 1; dial <= 1600; ++dial) {
    link->open("127.0.0.1:1");  // nothing listens there
    listener.wait_for(dial);
    if (dial == 100) before = heap_bytes();
  }
  // A stream that is kept costs about 34 kB.
  EXPECT_LT(heap_bytes(), before + 1500 * 4096);
}

TEST(AgentLink, drops_readings_first_while_the_server_does_not_keep_up) {
  DeafServer server;
  Counting listener;
  const auto link = make_agent_link(listener);
  link->open(server.address());
  listener.wait_for_connection();
  const std::vector<Reading> readings = {{{SubjectKind::kNode, ""}, {{"load_1m", 1}}}};
  LogChunk chunk;
  chunk.data.assign(kMaxLogChunk, 'x');
  int sent = 0;
  // What is refused now may have room in a moment: only what stays refused is full.
  for (int refused = 0; refused < 20 && sent < 10'000;) {
    const bool taken = link->send(chunk).ok();
    sent += taken ? 1 : 0;
    refused = taken ? 0 : refused + 1;
    if (!taken) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_LT(sent, 10'000) << "the network has no end";
  const Done told = link->send(readings);
  ASSERT_FALSE(told.ok());
  EXPECT_EQ(told.error().code, Code::kResourceExhausted);
  EXPECT_TRUE(link->send(AgentReport{}).ok()) << "what matters still waits in line";
  server.listen_now();
  for (int i = 0; i < 5000 && !link->send(readings).ok(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_TRUE(link->send(AgentReport{}).ok());
  link->close();
  listener.wait_for(1);
}

// Its threads would end at the same time as the process, and meet the destructors of its statics.
TEST(AgentLink, never_has_grpc_torn_down) {
  Counting listener;
  auto link = make_agent_link(listener);
  link->open("127.0.0.1:1");
  listener.wait_for(1);
  link.reset();
  EXPECT_EQ(grpc_is_initialized(), 1);
}

}  // namespace
}  // namespace keiko
