// Streams over real gRPC: events and logs, slow readers, nodes that go and come back.
#include <atomic>

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "keiko/v1/cluster.grpc.pb.h"
#include "server/testing/test_agent.h"

namespace keiko::server {
namespace {

const WorkerKey kFirst{JobId{1}, 1, 0};

void expect_done(const Done& how) {
  EXPECT_TRUE(how.ok()) << how.error().text();
}

/// Reads a stream of logs on a thread of its own.
class LogReaderThread {
 public:
  LogReaderThread(TestServer& server, const v1::ReadLogsRequest& request)
      : client_(server.client()), thread_([this, request] {
          how_ = client_->read_logs(
              request,
              [this](const v1::LogPiece& piece) {
                const std::lock_guard lock(mutex_);
                std::string& text = texts_[piece.attempt()];
                in_order_ = in_order_ && piece.offset() == static_cast<int64_t>(text.size());
                text += piece.data();
                return true;
              },
              stop_.get_token());
          ended_ = true;
        }) {}
  ~LogReaderThread() { (void)finish(); }

  std::string text(int attempt = 1) {
    const std::lock_guard lock(mutex_);
    return texts_[attempt];
  }
  bool ended() const { return ended_; }
  bool in_order() {
    const std::lock_guard lock(mutex_);
    return in_order_;
  }
  Done finish() {
    stop_.request_stop();
    if (thread_.joinable()) thread_.join();
    return how_;
  }
  Done join() {
    thread_.join();
    return how_;
  }

 private:
  std::unique_ptr<Client> client_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::map<int, std::string> texts_;
  bool in_order_ = true;
  Done how_ = done();
  std::atomic<bool> ended_{false};
  std::thread thread_;  // last: it uses the rest
};

v1::ReadLogsRequest logs_of(const std::string& job, bool follow) {
  v1::ReadLogsRequest request;
  request.set_job(job);
  request.set_follow(follow);
  request.set_stream("out");
  return request;
}

struct RunningJob {
  TestServer server;
  std::unique_ptr<Client> client = server.client();
  TestAgent agent{"a", server.addresses().grpc};

  explicit RunningJob(ServerOptions options = {})
      : server(std::make_shared<FakeJournalDisk>(), std::move(options)) {
    EXPECT_TRUE(eventually([&] { return agent.welcomed(); }));
    MUST(client->submit_job(submit_of("work", 1)));
    EXPECT_TRUE(eventually([&] { return agent.has_worker(kFirst); }));
    EXPECT_TRUE(eventually([&] { return status_of(*client, "j1") == "RUNNING"; }));
  }
};

TEST(LogStream, reads_what_is_there_and_ends) {
  RunningJob job;
  job.agent.write_log(kFirst, "hello\nworld\n");
  LogReaderThread reader(job.server, logs_of("j1", false));
  expect_done(reader.join());
  EXPECT_EQ(reader.text(), "hello\nworld\n");
}

TEST(LogStream, a_negative_offset_reads_the_tail) {
  RunningJob job;
  job.agent.write_log(kFirst, "0123456789");
  v1::ReadLogsRequest request = logs_of("j1", false);
  request.set_offset(-3);
  std::string text;
  int64_t offset = -1;
  MUST(job.client->read_logs(request, [&](const v1::LogPiece& piece) {
    if (offset < 0) offset = piece.offset();
    text += piece.data();
    return true;
  }, {}));
  EXPECT_EQ(text, "789");
  EXPECT_EQ(offset, 7);
}

TEST(LogStream, follows_a_growing_log_until_the_job_ends) {
  RunningJob job;
  LogReaderThread reader(job.server, logs_of("j1", true));
  std::string all;
  for (int i = 0; i < 20; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    job.agent.write_log(kFirst, line);
    all += line;
    ASSERT_TRUE(eventually([&] { return reader.text() == all; }));
  }
  job.agent.end_worker(kFirst, 0);
  expect_done(reader.join());
  EXPECT_EQ(reader.text(), all);
  EXPECT_TRUE(reader.in_order());
}

TEST(LogStream, megabytes_arrive_whole_and_in_order) {
  RunningJob job;
  std::string text;
  for (int i = 0; text.size() < (5u << 20); ++i) text += "row " + std::to_string(i) + '\n';
  job.agent.write_log(kFirst, text);
  job.agent.end_worker(kFirst, 0);
  LogReaderThread reader(job.server, logs_of("j1", true));
  expect_done(reader.join());
  EXPECT_TRUE(reader.in_order());
  // Not EXPECT_EQ: its account of a difference between such texts takes all memory there is.
  EXPECT_TRUE(reader.text() == text) << reader.text().size() << " bytes of " << text.size();
}

TEST(LogStream, goes_on_at_its_offset_when_the_agent_dials_again) {
  RunningJob job;
  LogReaderThread reader(job.server, logs_of("j1", true));
  job.agent.write_log(kFirst, "before;");
  ASSERT_TRUE(eventually([&] { return reader.text() == "before;"; }));
  job.agent.drop();
  job.agent.write_log(kFirst, "meanwhile;");
  job.agent.reopen();
  ASSERT_TRUE(eventually([&] { return job.agent.welcomes() == 2; }));
  job.agent.write_log(kFirst, "after;");
  EXPECT_TRUE(eventually([&] { return reader.text() == "before;meanwhile;after;"; }))
      << reader.text();
  EXPECT_TRUE(reader.in_order());
}

TEST(LogStream, follows_into_the_next_attempt) {
  RunningJob job;
  LogReaderThread reader(job.server, logs_of("j1", true));
  job.agent.write_log(kFirst, "first try");
  ASSERT_TRUE(eventually([&] { return reader.text() == "first try"; }));
  job.agent.end_worker(kFirst, 1);
  const WorkerKey second{JobId{1}, 2, 0};
  ASSERT_TRUE(eventually([&] { return job.agent.has_worker(second); }));
  job.agent.write_log(second, "second try");
  ASSERT_TRUE(eventually([&] { return reader.text(2) == "second try"; }));
  job.agent.end_worker(second, 0);
  expect_done(reader.join());
  EXPECT_EQ(reader.text(1), "first try");
  v1::ReadLogsRequest past = logs_of("j1", false);
  past.set_attempt(1);
  LogReaderThread again(job.server, past);
  expect_done(again.join());
  EXPECT_EQ(again.text(1), "first try");
}

TEST(LogStream, a_node_that_is_gone_is_named) {
  RunningJob job;
  job.agent.drop();
  ASSERT_TRUE(eventually([&] {
    v1::GetNodeRequest request;
    request.set_node("a");
    return !MUST(job.client->get_node(request)).connected();
  }));
  LogReaderThread reader(job.server, logs_of("j1", false));
  const Done how = reader.join();
  ASSERT_FALSE(how.ok());
  EXPECT_EQ(how.error().code, Code::kUnavailable);
  EXPECT_NE(how.error().message.find("node a is not connected"), std::string::npos)
      << how.error().text();
}

TEST(LogStream, jobs_ranks_and_streams_that_are_not_there_are_refused) {
  RunningJob job;
  v1::ReadLogsRequest request = logs_of("j9", false);
  const auto ignore = [](const v1::LogPiece&) { return true; };
  EXPECT_EQ(job.client->read_logs(request, ignore, {}).error().code, Code::kNotFound);
  request = logs_of("j1", false);
  request.set_rank(3);
  EXPECT_EQ(job.client->read_logs(request, ignore, {}).error().where, "rank");
  request.set_rank(0);
  request.set_stream("both");
  EXPECT_EQ(job.client->read_logs(request, ignore, {}).error().where, "stream");
  MUST(job.client->submit_job(submit_of("waits", 4)));
  EXPECT_EQ(job.client->read_logs(logs_of("j2", false), ignore, {}).error().code,
            Code::kFailedPrecondition);
}

TEST(LogStream, a_client_that_never_reads_is_cut_and_holds_nothing_up) {
  ServerOptions options;
  options.streams.slow_reader_timeout = seconds(1);
  RunningJob job(options);
  job.agent.write_log(kFirst, std::string(4u << 20, 'x'));
  const auto stub = v1::ClusterService::NewStub(
      grpc::CreateChannel(job.server.addresses().grpc, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto stuck = stub->ReadLogs(&context, logs_of("j1", true));
  LogReaderThread other(job.server, logs_of("j1", true));
  EXPECT_TRUE(eventually([&] { return other.text().size() == (4u << 20); }));
  std::this_thread::sleep_for(std::chrono::seconds(3));  // the time-out under test, and a tick
  v1::LogPiece piece;
  size_t got = 0;
  while (stuck->Read(&piece)) got += piece.data().size();
  EXPECT_FALSE(stuck->Finish().ok());
  EXPECT_LT(got, 4u << 20);
  EXPECT_EQ(status_of(*job.client, "j1"), "RUNNING");
}

TEST(EventStream, shows_what_happened_in_order_and_ends_or_follows) {
  TestServer server;
  const auto client = server.client();
  MUST(client->submit_job(submit_of("one")));
  MUST(client->submit_job(submit_of("two")));
  std::vector<std::string> jobs;
  uint64_t cursor = 0;
  MUST(client->watch_events({}, [&](const v1::Event& event) {
    EXPECT_GT(event.cursor(), cursor);
    cursor = event.cursor();
    if (event.name() == "job_submitted") jobs.push_back(event.job());
    return true;
  }, {}));
  EXPECT_EQ(jobs, (std::vector<std::string>{"j1", "j2"}));

  v1::WatchEventsRequest later;
  later.set_after(cursor);
  later.set_follow(true);
  later.set_job("j3");
  std::atomic<bool> seen{false};
  std::stop_source stop;
  std::thread watcher([&] {
    const Done how = client->watch_events(later, [&](const v1::Event& event) {
      EXPECT_EQ(event.job(), "j3");
      seen = true;
      return true;
    }, stop.get_token());
    EXPECT_TRUE(how.ok());
  });
  MUST(client->submit_job(submit_of("three")));
  EXPECT_TRUE(eventually([&] { return seen.load(); }));
  stop.request_stop();
  watcher.join();
}

TEST(EventStream, a_cursor_that_is_too_old_or_from_nowhere_is_out_of_range) {
  ServerOptions options;
  options.loop.event_ring = 8;
  TestServer server(std::make_shared<FakeJournalDisk>(), options);
  const auto client = server.client();
  for (int i = 0; i < 20; ++i) MUST(client->submit_job(submit_of("job")));
  for (const uint64_t after : {uint64_t{1}, UINT64_MAX}) {
    v1::WatchEventsRequest request;
    request.set_after(after);
    const Done how = client->watch_events(request, [](const v1::Event&) { return true; }, {});
    ASSERT_FALSE(how.ok());
    EXPECT_EQ(how.error().code, Code::kOutOfRange);
    EXPECT_NE(how.error().message.find("watch again"), std::string::npos);
  }
}

TEST(EventStream, a_client_that_never_reads_is_cut_when_the_ring_moves_on) {
  ServerOptions options;
  options.loop.event_ring = 64;
  TestServer server(std::make_shared<FakeJournalDisk>(), options);
  const auto client = server.client();
  const auto stub = v1::ClusterService::NewStub(
      grpc::CreateChannel(server.addresses().grpc, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::WatchEventsRequest request;
  request.set_follow(true);
  const auto stuck = stub->WatchEvents(&context, request);
  v1::SubmitJobsRequest batch;
  for (int i = 0; i < 2000; ++i) *batch.add_requests() = submit_of(std::string(60, 'n'));
  for (int i = 0; i < 5; ++i) MUST(client->submit_jobs(batch));
  v1::Event event;
  size_t got = 0;
  while (stuck->Read(&event)) ++got;
  EXPECT_FALSE(stuck->Finish().ok());
  EXPECT_LT(got, 10'000u);
  MUST(client->submit_job(submit_of("still-served")));
}

}  // namespace
}  // namespace keiko::server
