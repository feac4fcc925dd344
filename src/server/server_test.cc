// The server over real gRPC: clients, agents, restarts, bad days.
#include "server/server.h"

#include "server/testing/test_agent.h"
#include "server/testing/test_http.h"

namespace keiko::server {
namespace {

v1::ActOnJobRequest act(const std::string& job, const std::string& action) {
  v1::ActOnJobRequest request;
  request.set_job(job);
  request.set_action(action);
  return request;
}

/// RETURNS: a number of the server's /metrics.
double metric(const TestServer& server, const std::string& name) {
  const std::string text = http_get(server.addresses().http, "/metrics");
  const size_t at = text.find("\n" + name + " ");
  EXPECT_NE(at, std::string::npos) << name;
  return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size() + 2));
}

TEST(Server, a_job_is_submitted_listed_explained_and_cancelled) {
  TestServer server;
  const auto client = server.client();
  const v1::SubmitJobResponse submitted = MUST(client->submit_job(submit_of("first")));
  EXPECT_EQ(submitted.job(), "j1");
  EXPECT_EQ(status_of(*client, "j1"), "PENDING");
  const v1::ListJobsResponse list = MUST(client->list_jobs({}));
  ASSERT_EQ(list.jobs_size(), 1);
  EXPECT_EQ(list.jobs(0).spec().name(), "first");
  v1::ExplainJobRequest why;
  why.set_job("1");
  EXPECT_EQ(MUST(client->explain_job(why)).verdict().fit(), "not_now");
  EXPECT_FALSE(MUST(client->act_on_job(act("j1", "cancel"))).text().empty());
  EXPECT_EQ(status_of(*client, "j1"), "CANCELLED");
  const auto again = client->act_on_job(act("j1", "hold"));
  EXPECT_EQ(again.error().code, Code::kFailedPrecondition);
}

TEST(Server, an_agent_starts_reports_and_ends_a_job) {
  TestServer server;
  const auto client = server.client();
  TestAgent agent("a", server.addresses().grpc);
  ASSERT_TRUE(eventually([&] { return agent.welcomed(); }));
  MUST(client->submit_job(submit_of("work", 2)));
  ASSERT_TRUE(eventually([&] { return status_of(*client, "j1") == "RUNNING"; }));
  v1::GetJobRequest request;
  request.set_job("j1");
  const v1::Job job = MUST(client->get_job(request));
  ASSERT_EQ(job.workers_size(), 1);
  EXPECT_EQ(job.workers(0).node(), "a");
  EXPECT_EQ(job.workers(0).pid(), 4711);
  EXPECT_EQ(job.nodes(0), "a");
  const v1::ListNodesResponse nodes = MUST(client->list_nodes({}));
  ASSERT_EQ(nodes.nodes_size(), 1);
  EXPECT_EQ(nodes.nodes(0).devices_taken(), 2);
  EXPECT_EQ(nodes.nodes(0).status(), "READY");
  EXPECT_TRUE(nodes.nodes(0).connected());
  int held = 0;
  for (const v1::Device& device : nodes.nodes(0).devices())
    held += device.worker() == "j1.1.0" ? 1 : 0;
  EXPECT_EQ(held, 2);
  agent.end_worker({JobId{1}, 1, 0}, 0);
  EXPECT_TRUE(eventually([&] { return status_of(*client, "j1") == "COMPLETED"; }));
  v1::GetJobRequest ended;
  ended.set_job("j1");
  EXPECT_FALSE(MUST(client->get_job(ended)).workers(0).has_pid()) << "it may be another's by now";
}

TEST(Server, a_listing_tells_links_and_host_of_nodes_only_when_asked) {
  TestServer server;
  const auto client = server.client();
  TestAgent agent("a", server.addresses().grpc);
  ASSERT_TRUE(eventually([&] { return agent.welcomed(); }));
  v1::ListNodesRequest request;
  EXPECT_FALSE(MUST(client->list_nodes(request)).nodes(0).has_host());
  request.set_with_topology(true);
  const v1::ListNodesResponse nodes = MUST(client->list_nodes(request));
  ASSERT_EQ(nodes.nodes(0).host().nics_size(), 1);
  EXPECT_EQ(nodes.nodes(0).host().nics(0).name(), "eth0");
  v1::GetNodeRequest one;
  one.set_node("a");
  EXPECT_EQ(MUST(client->get_node(one)).host().numa_size(), 2);
}

TEST(Server, a_second_agent_of_the_same_name_is_refused_with_a_sentence) {
  TestServer server;
  TestAgent first("twin", server.addresses().grpc);
  ASSERT_TRUE(eventually([&] { return first.welcomed(); }));
  // The same name from another state directory.
  class Listener : public AgentListener {
   public:
    explicit Listener(const std::string& address) : link_(make_agent_link(*this)) {
      link_->open(address);
    }
    ~Listener() override { link_->close(); }
    void on_connected() override {
      AgentHello hello;
      hello.node.name = "twin";
      hello.node.instance = "another";
      hello.node.address = "127.0.0.1";
      hello.node.cpu_milli = 1000;
      (void)link_->send(hello);
    }
    void on_message(ServerMessage message) override {
      if (const auto* refusal = std::get_if<Refused>(&message.body)) {
        const std::lock_guard lock(mutex_);
        why_ = refusal->why;
      }
    }
    void on_log_read(LogRead) override {}
    void on_log_cancel(uint64_t) override {}
    void on_closed(Error) override {}
    std::string why() {
      const std::lock_guard lock(mutex_);
      return why_;
    }

   private:
    std::mutex mutex_;
    std::string why_;
    std::unique_ptr<AgentLink> link_;
  };
  Listener second(server.addresses().grpc);
  EXPECT_TRUE(eventually([&] { return second.why().find("twin") != std::string::npos; }));
  EXPECT_TRUE(first.welcomed());
}

TEST(Server, a_token_makes_submit_idempotent) {
  TestServer server;
  const auto client = server.client();
  EXPECT_EQ(MUST(client->submit_job(submit_of("a", 0, "t1"))).job(), "j1");
  EXPECT_EQ(MUST(client->submit_job(submit_of("a", 0, "t1"))).job(), "j1");
  EXPECT_EQ(MUST(client->list_jobs({})).jobs_size(), 1);
}

TEST(Server, a_batch_answers_each_request_by_itself) {
  TestServer server;
  const auto client = server.client();
  v1::SubmitJobsRequest batch;
  *batch.add_requests() = submit_of("one");
  batch.add_requests()->mutable_spec()->set_kind("nonsense");
  batch.add_requests();
  *batch.add_requests() = submit_of("two");
  const v1::SubmitJobsResponse response = MUST(client->submit_jobs(batch));
  ASSERT_EQ(response.outcomes_size(), 4);
  EXPECT_EQ(response.outcomes(0).job(), "j1");
  EXPECT_EQ(response.outcomes(1).error().where(), "kind");
  EXPECT_EQ(response.outcomes(2).error().code(), "invalid_argument");
  EXPECT_EQ(response.outcomes(3).job(), "j2");
  EXPECT_EQ(MUST(client->submit_jobs({})).outcomes_size(), 0);
}

TEST(Server, batches_do_not_each_wait_for_a_pass_over_a_long_line) {
  TestServer server;
  const auto client = server.client();
  v1::SubmitJobsRequest thousand;
  for (int i = 0; i < 1000; ++i) *thousand.add_requests() = submit_of("waits");
  for (int i = 0; i < 20; ++i) MUST(client->submit_jobs(thousand));
  const double passes_before = metric(server, "keiko_scheduling_pass_seconds_count");
  const double spent_before = metric(server, "keiko_scheduling_pass_seconds_sum");
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 200; ++i) MUST(client->submit_job(submit_of("one")));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const double passes = metric(server, "keiko_scheduling_pass_seconds_count") - passes_before;
  const double spent = metric(server, "keiko_scheduling_pass_seconds_sum") - spent_before;
  // A fifth of the time by design, half of it on a busy machine, and those at the two ends; without
  // rests it is nearly all.
  EXPECT_LE(spent, 0.5 * took.count() + 2 * spent / std::max(passes, 1.0)) << took.count() << " s";
}

TEST(Server, pages_cover_all_jobs_once_in_both_orders_and_filters_hold) {
  TestServer server;
  const auto client = server.client();
  v1::SubmitJobsRequest batch;
  for (int i = 0; i < 25; ++i) *batch.add_requests() = submit_of(i % 2 == 0 ? "even" : "odd");
  MUST(client->submit_jobs(batch));
  for (const bool newest_first : {false, true}) {
    v1::ListJobsRequest request;
    request.set_page_size(10);
    request.set_newest_first(newest_first);
    std::vector<std::string> ids;
    int pages = 0;
    do {
      const v1::ListJobsResponse page = MUST(client->list_jobs(request));
      for (const v1::Job& job : page.jobs()) ids.push_back(job.id());
      request.set_page_token(page.next_page_token());
      ++pages;
    } while (!request.page_token().empty());
    EXPECT_EQ(pages, 3);
    ASSERT_EQ(ids.size(), 25u);
    EXPECT_EQ(ids.front(), newest_first ? "j25" : "j1");
    EXPECT_EQ(ids.back(), newest_first ? "j1" : "j25");
  }
  v1::ListJobsRequest filtered;
  filtered.set_name("odd");
  filtered.add_statuses("PENDING");
  EXPECT_EQ(MUST(client->list_jobs(filtered)).jobs_size(), 12);
  filtered.set_statuses(0, "pending");
  EXPECT_EQ(MUST(client->list_jobs(filtered)).jobs_size(), 12) << "in any case";
  filtered.add_statuses("PENDIN");
  EXPECT_NE(client->list_jobs(filtered).error().message.find("did you mean PENDING?"),
            std::string::npos);
  v1::ListJobsRequest bad;
  bad.set_page_token("garbage");
  EXPECT_EQ(client->list_jobs(bad).error().where, "page_token");
  bad.set_page_token("");
  bad.set_page_size(5000);
  EXPECT_EQ(client->list_jobs(bad).error().where, "page_size");
}

TEST(Server, unknown_jobs_and_nodes_are_not_found_with_what_to_do) {
  TestServer server;
  const auto client = server.client();
  TestAgent agent("node-a", server.addresses().grpc);
  ASSERT_TRUE(eventually([&] { return agent.welcomed(); }));
  v1::GetJobRequest job;
  job.set_job("j99");
  EXPECT_EQ(client->get_job(job).error().code, Code::kNotFound);
  job.set_job("banana");
  EXPECT_EQ(client->get_job(job).error().code, Code::kInvalidArgument);
  v1::GetNodeRequest node;
  node.set_node("node-b");
  EXPECT_NE(client->get_node(node).error().message.find("did you mean node-a?"), std::string::npos);
  v1::ActOnNodeRequest cordon;
  cordon.set_node("node-a");
  cordon.set_action("cordon");
  cordon.set_why("maintenance");
  MUST(client->act_on_node(cordon));
  node.set_node("node-a");
  EXPECT_EQ(MUST(client->get_node(node)).status(), "CORDONED");
}

TEST(Server, a_huge_message_is_refused_and_the_server_lives) {
  TestServer server;
  const auto client = server.client();
  v1::SubmitJobRequest huge = submit_of("huge");
  (*huge.mutable_spec()->mutable_env())["X"] = std::string(40u << 20, 'x');
  const auto refused = client->submit_job(huge);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted) << refused.error().text();
  (*huge.mutable_spec()->mutable_env())["X"] = std::string(1u << 20, 'x');
  EXPECT_EQ(client->submit_job(huge).error().code, Code::kInvalidArgument);
  EXPECT_EQ(MUST(client->submit_job(submit_of("small"))).job(), "j1");
}

TEST(Server, a_restart_on_the_same_journal_keeps_jobs_and_grows_the_term) {
  const auto disk = std::make_shared<FakeJournalDisk>();
  uint64_t term = 0;
  {
    TestServer server(disk);
    const auto client = server.client();
    MUST(client->submit_job(submit_of("kept", 0, "t")));
    MUST(client->submit_job(submit_of("gone")));
    MUST(client->act_on_job(act("j2", "cancel")));
    term = MUST(client->get_version()).term();
    EXPECT_TRUE(server.stop().ok());
  }
  TestServer server(disk);
  const auto client = server.client();
  EXPECT_EQ(status_of(*client, "j1"), "PENDING");
  EXPECT_EQ(status_of(*client, "j2"), "CANCELLED");
  EXPECT_EQ(MUST(client->submit_job(submit_of("kept", 0, "t"))).job(), "j1");
  EXPECT_GT(MUST(client->get_version()).term(), term);
}

TEST(Server, snapshots_replace_records_and_a_restart_reads_them) {
  const auto disk = std::make_shared<FakeJournalDisk>();
  ServerOptions options;
  options.loop.snapshot_records = 10;
  {
    TestServer server(disk, options);
    const auto client = server.client();
    for (int i = 0; i < 35; ++i) MUST(client->submit_job(submit_of("job")));
  }
  FakeJournal reader(disk);
  const auto snapshot = MUST(reader.latest_snapshot());
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_GT(snapshot->sequence, 20u);
  TestServer server(disk, options);
  EXPECT_EQ(MUST(server.client()->list_jobs({})).jobs_size(), 35);
}

TEST(Server, a_full_disk_refuses_writes_serves_reads_keeps_leases_and_heals) {
  ServerOptions options;
  options.loop.retry_first = milliseconds(50);
  options.loop.retry_most = milliseconds(100);
  TestServer server(std::make_shared<FakeJournalDisk>(), options);
  const auto client = server.client();
  TestAgent agent("a", server.addresses().grpc);
  ASSERT_TRUE(eventually([&] { return agent.welcomed(); }));
  MUST(client->submit_job(submit_of("before")));
  ASSERT_TRUE(eventually([&] { return status_of(*client, "j1") == "RUNNING"; }));
  server.on_disk([](const auto& disk) { disk->set_capacity(Bytes{0}); });
  const auto refused = client->submit_job(submit_of("during"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted) << refused.error().text();
  EXPECT_NE(refused.error().message.find("full"), std::string::npos);
  EXPECT_EQ(status_of(*client, "j1"), "RUNNING");
  EXPECT_EQ(MUST(client->list_jobs({})).jobs_size(), 1) << "a refused job leaves no trace";
  EXPECT_TRUE(MUST(client->get_version()).read_only());
  // The agent dials again; its heartbeats are answered though nothing can be written.
  ASSERT_TRUE(eventually([&] { return agent.is_closed(); }));
  agent.reopen();
  ASSERT_TRUE(eventually([&] { return agent.welcomes() == 2; }));
  agent.end_worker({JobId{1}, 1, 0}, 0);  // news that cannot be made durable yet
  const uint64_t acks = agent.acks();
  ASSERT_TRUE(eventually([&] { agent.report(); return agent.acks() > acks + 3; }));
  EXPECT_EQ(status_of(*client, "j1"), "RUNNING") << "a crash would take its end back";
  server.on_disk([](const auto& disk) { disk->set_capacity(std::nullopt); });
  EXPECT_TRUE(eventually([&] { return status_of(*client, "j1") == "COMPLETED"; }));
  ASSERT_TRUE(eventually([&] { return client->submit_job(submit_of("after")).ok(); }));
  EXPECT_FALSE(MUST(client->get_version()).read_only());
  EXPECT_EQ(MUST(client->list_jobs({})).jobs_size(), 2);
}

TEST(Server, an_unknown_outcome_of_an_append_ends_the_server_and_a_restart_knows_the_truth) {
  for (const AppendFault fault : {AppendFault::kTorn, AppendFault::kKept}) {
    const auto disk = std::make_shared<FakeJournalDisk>();
    {
      TestServer server(disk);
      const auto client = server.client();
      MUST(client->submit_job(submit_of("acknowledged")));
      server.on_disk([&](const auto& locked) { locked->fail_next_append(fault); });
      EXPECT_EQ(client->submit_job(submit_of("unknown")).error().code, Code::kUnavailable);
      EXPECT_EQ(server.wait_for_end().error().code, Code::kUnavailable);
    }
    disk->crash();
    TestServer server(disk);
    EXPECT_EQ(MUST(server.client()->list_jobs({})).jobs_size(),
              fault == AppendFault::kKept ? 2 : 1);
  }
}

TEST(Server, a_server_that_was_fenced_stops_and_says_so) {
  TestServer server;
  const auto client = server.client();
  server.on_disk([](const std::shared_ptr<FakeJournalDisk>& disk) {
    FakeJournal rival(disk);
    MUST(rival.acquire());
  });
  EXPECT_EQ(client->submit_job(submit_of("late")).error().code, Code::kUnavailable);
  const Done ended = server.wait_for_end();
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, Code::kAborted);
}

TEST(Server, a_port_in_use_is_named_with_the_flag_that_changes_it) {
  TestServer server;
  FakeJournal journal(std::make_shared<FakeJournalDisk>());
  SteadyClock clock(Time{});
  ServerOptions options;
  options.grpc_port =
      std::stoi(server.addresses().grpc.substr(server.addresses().grpc.find(':') + 1));
  options.http_port = 0;
  const Done ran = run_server(options, journal, clock, MUST(recover(journal)), {}, {});
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, Code::kAlreadyExists);
  EXPECT_NE(ran.error().message.find(std::to_string(options.grpc_port)), std::string::npos);
  EXPECT_NE(ran.error().message.find("--grpc-port"), std::string::npos);
  std::swap(options.grpc_port, options.http_port);
  const Done http = run_server(options, journal, clock, MUST(recover(journal)), {}, {});
  EXPECT_NE(http.error().message.find("--http-port"), std::string::npos);
}

TEST(Server, nobody_at_the_address_gives_the_address_and_what_to_do) {
  const auto client = make_client({"127.0.0.1:1", seconds(5), seconds(1)});
  const auto refused = client->get_version();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_NE(refused.error().message.find("127.0.0.1:1; start one with `keiko up`"),
            std::string::npos);
  const Done stream = client->watch_events({}, [](const v1::Event&) { return true; }, {});
  EXPECT_EQ(stream.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace keiko::server
