// The HTTP gateway over real sockets: routes, errors, limits, streams.
#include <unistd.h>

#include <fstream>

#include "ports/logs/log_store_fake.h"
#include "server/testing/test_agent.h"
#include "server/testing/test_http.h"

namespace keiko::server {
namespace {

Reply ask(const TestServer& server, const std::string& method, const std::string& target,
          const std::string& body = {}, const std::string& headers = {}) {
  Socket socket(server.addresses().http);
  const std::string type = method == "POST" ? "Content-Type: application/json\r\n" : "";
  socket.send(method + ' ' + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
              type + headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
              body);
  return parse(socket.read_all());
}

const char* const kJob = R"({"spec":{"name":"web","command":["/bin/true"],"grace":"5s"}})";

TEST(Http, submits_lists_shows_explains_and_cancels) {
  TestServer server;
  const Reply submitted = ask(server, "POST", "/v1/jobs", kJob);
  EXPECT_EQ(submitted.status, 201) << submitted.body;
  EXPECT_EQ(submitted.json()["job"], "j1");
  const Json list = ask(server, "GET", "/v1/jobs?status=PENDING&page_size=10").json();
  EXPECT_EQ(list["jobs"][0]["spec"]["name"], "web");
  EXPECT_EQ(list["jobs"][0]["spec"]["grace"], "5s");
  EXPECT_EQ(list["next_page_token"], "");
  EXPECT_EQ(ask(server, "GET", "/v1/jobs/j1").json()["status"], "PENDING");
  EXPECT_EQ(ask(server, "GET", "/v1/jobs/1/why").json()["verdict"]["fit"], "not_now");
  EXPECT_EQ(ask(server, "POST", "/v1/jobs/j1:cancel", R"({"why":"test"})").status, 200);
  EXPECT_EQ(ask(server, "GET", "/v1/jobs/j1").json()["status"], "CANCELLED");
  EXPECT_EQ(ask(server, "POST", "/v1/jobs/j1:hold").status, 409);
}

TEST(Http, nodes_and_devices_are_shown_and_cordoned) {
  TestServer server;
  TestAgent agent("a", server.addresses().grpc, 2);
  ASSERT_TRUE(eventually([&] { return agent.welcomed(); }));
  EXPECT_EQ(ask(server, "GET", "/v1/nodes").json()["nodes"][0]["name"], "a");
  EXPECT_EQ(ask(server, "POST", "/v1/nodes/a:cordon").status, 200);
  const auto forget = ask(server, "POST", "/v1/nodes/a:forget");
  EXPECT_EQ(forget.status, 409) << "only what is LOST";
  EXPECT_NE(forget.body.find("only a LOST node is forgotten"), std::string::npos) << forget.body;
  EXPECT_EQ(ask(server, "GET", "/v1/nodes/a").json()["status"], "CORDONED");
  const Json devices = ask(server, "GET", "/v1/devices").json();
  ASSERT_EQ(devices["devices"].size(), 2u);
  EXPECT_EQ(devices["devices"][1]["node"], "a");
  EXPECT_EQ(devices["devices"][1]["uuid"], "a-1");
}

TEST(Http, what_an_agent_tells_of_its_health_is_shown_and_it_is_heard_on) {
  TestServer server;
  TestAgent agent("a", server.addresses().grpc, 2);
  ASSERT_TRUE(eventually([&] { return agent.welcomed(); }));
  SubjectHealth ill;
  ill.subject = {"", HealthSubjectKind::kDevice, "a-1"};
  ill.level = "unhealthy";
  ill.quarantined = true;
  ill.cause = "xid_79";
  IncidentRecord incident;
  incident.id = 7;
  incident.story = "it fell off the bus";
  EXPECT_TRUE(agent.tell(HealthReport{{ill}, false, {incident}}));
  const auto node = [&] { return ask(server, "GET", "/v1/nodes/a").json(); };
  ASSERT_TRUE(eventually([&] { return node()["health"].size() == 1; }));
  EXPECT_EQ(node()["health"][0]["cause"], "xid_79");
  EXPECT_EQ(node()["incidents"][0]["story"], "it fell off the bus");
  EXPECT_EQ(ask(server, "GET", "/v1/nodes").json()["nodes"][0]["health"][0]["name"], "a-1");
  const uint64_t before = agent.acks();
  EXPECT_TRUE(eventually([&] { return agent.acks() > before + 1; })) << "its reports still count";
}

TEST(Http, the_newest_readings_of_an_agent_are_shown_while_it_is_there) {
  TestServer server;
  TestAgent agent("a", server.addresses().grpc, 2);
  ASSERT_TRUE(eventually([&] { return agent.welcomed(); }));
  const auto devices = [&] { return ask(server, "GET", "/v1/devices").json()["devices"]; };
  EXPECT_FALSE(devices()[1].contains("reading")) << "nothing was measured";
  const auto tell = [&](double watts) {
    return agent.tell(std::vector<Reading>{
        {{SubjectKind::kNode, ""}, {{"cpu_utilisation_ratio", 0.5}}},
        {{SubjectKind::kDevice, "a-1"}, {{"power_watts", watts}, {"utilisation_ratio", 0}}},
        {{SubjectKind::kDevice, "gone"}, {{"power_watts", 1}}}});
  };
  const auto watts = [&] {
    const Json all = devices();
    return all[1].contains("reading") ? all[1]["reading"]["power_watts"].get<double>() : 0;
  };
  for (const double draw : {300.0, 310.0}) {
    ASSERT_TRUE(eventually([&] { return tell(draw); }));
    EXPECT_TRUE(eventually([&] { return watts() == draw; }));
  }
  EXPECT_EQ(devices()[1]["reading"]["utilisation_ratio"], 0);
  EXPECT_FALSE(devices()[1]["reading"].contains("temperature_celsius")) << "absent is no zero";
  EXPECT_FALSE(devices()[0].contains("reading"));
  EXPECT_EQ(ask(server, "GET", "/v1/nodes/a").json()["reading"]["cpu_utilisation_ratio"], 0.5);
  agent.drop();
  EXPECT_TRUE(eventually([&] { return !devices()[1].contains("reading"); }))
      << "its stream is gone";
}

TEST(Http, errors_are_json_with_the_right_status) {
  TestServer server;
  const auto expect = [&](int status, const std::string& code, const Reply& reply) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_EQ(reply.json()["error"]["code"], code) << reply.body;
    EXPECT_FALSE(reply.json()["error"]["message"].get<std::string>().empty());
  };
  expect(404, "not_found", ask(server, "GET", "/v1/jobs/j9"));
  expect(404, "not_found", ask(server, "GET", "/nothing"));
  expect(404, "not_found", ask(server, "GET", "/v1/jobs/j9/logs"));
  expect(405, "unimplemented", ask(server, "DELETE", "/v1/jobs/j9"));
  expect(400, "invalid_argument", ask(server, "GET", "/v1/jobs?sta=x"));
  expect(400, "invalid_argument", ask(server, "POST", "/v1/jobs", "{nonsense"));
  expect(400, "invalid_argument", ask(server, "POST", "/v1/jobs", R"({"spec":{"comand":["x"]}})"));
  expect(400, "invalid_argument", ask(server, "POST", "/v1/jobs/j1:explode"));
  expect(400, "out_of_range", ask(server, "GET", "/v1/events?after=7&follow=false"));
  EXPECT_NE(ask(server, "PUT", "/v1/jobs").head.find("Allow: GET, HEAD, POST"), std::string::npos);
}

TEST(Http, head_has_the_headers_of_get_and_no_body) {
  TestServer server;
  const Reply get = ask(server, "GET", "/v1/jobs");
  const Reply head = ask(server, "HEAD", "/v1/jobs");
  EXPECT_EQ(head.status, 200);
  EXPECT_TRUE(head.body.empty());
  EXPECT_NE(head.head.find("Content-Length: " + std::to_string(get.body.size())), std::string::npos)
      << head.head;
}

TEST(Http, a_web_page_of_another_site_cannot_submit_or_read) {
  TestServer server;
  Socket simple(server.addresses().http);
  simple.send("POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
              "Connection: close\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(parse(simple.read_all()).status, 415);
  Socket rebound(server.addresses().http);
  rebound.send("GET /v1/jobs HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(parse(rebound.read_all()).status, 403);
}

TEST(Http, malformed_and_huge_requests_are_refused_and_the_server_lives) {
  TestServer server;
  Socket garbage(server.addresses().http);
  garbage.send("\x16\x03\x01 not http at all\r\n\r\n");
  EXPECT_EQ(parse(garbage.read_all()).status, 400);
  Socket headers(server.addresses().http);
  headers.send("GET / HTTP/1.1\r\nX: " + std::string(40'000, 'x') + "\r\n\r\n");
  EXPECT_EQ(parse(headers.read_all()).status, 431);
  const Reply body = ask(server, "POST", "/v1/jobs", std::string(2u << 20, ' '));
  EXPECT_EQ(body.status, 413);
  EXPECT_EQ(ask(server, "GET", "/healthz").body, "ok\n");
}

TEST(Http, several_requests_go_over_one_connection) {
  TestServer server;
  Socket socket(server.addresses().http);
  for (int i = 0; i < 3; ++i) {
    socket.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(parse(socket.read_until("ok\n")).body, "ok\n");
    socket.forget();
  }
}

TEST(Http, a_client_that_does_not_finish_its_request_is_hung_up_on) {
  ServerOptions options;
  options.http.request_timeout = milliseconds(300);
  TestServer server(std::make_shared<FakeJournalDisk>(), options);
  Socket slow(server.addresses().http);
  slow.send("GET /v1/jobs HTT");
  EXPECT_EQ(slow.read_all(), "");
}

TEST(Http, events_stream_and_continue_after_their_id) {
  TestServer server;
  Socket socket(server.addresses().http);
  socket.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(socket.read_until("\r\n\r\n").find("text/event-stream"), std::string::npos);
  ask(server, "POST", "/v1/jobs", kJob);
  const std::string text = socket.read_until("event: job_submitted\n");
  const size_t event = text.find("event: job_submitted\n");
  ASSERT_NE(event, std::string::npos);
  const size_t id = text.rfind("id: ", event) + 4;
  const std::string cursor = text.substr(id, text.find('\n', id) - id);
  ask(server, "POST", "/v1/jobs", kJob);
  const Reply rest =
      ask(server, "GET", "/v1/events?follow=false", "", "Last-Event-ID: " + cursor + "\r\n");
  // What came after the id: j1's own submit is not among it, j2's is.
  const std::string submitted = "event: job_submitted\n";
  const size_t first = rest.body.find(submitted);
  ASSERT_NE(first, std::string::npos) << rest.body;
  EXPECT_EQ(rest.body.find(submitted, first + 1), std::string::npos) << rest.body;
  EXPECT_NE(rest.body.find("\"job\":\"j2\""), std::string::npos) << rest.body;
}

TEST(Http, logs_stream_as_text_with_characters_whole) {
  TestServer server;
  TestAgent agent("a", server.addresses().grpc);
  ASSERT_TRUE(eventually([&] { return agent.welcomed(); }));
  ask(server, "POST", "/v1/jobs", kJob);
  const WorkerKey key{JobId{1}, 1, 0};
  ASSERT_TRUE(eventually([&] { return agent.has_worker(key); }));
  Socket socket(server.addresses().http);
  socket.send("GET /v1/jobs/j1/logs?follow=true HTTP/1.1\r\nHost: localhost\r\n\r\n");
  agent.write_log(key, "one \xE7\xA8");  // the first two bytes of a character of three
  socket.read_until("\"text\":\"one \"");
  agent.write_log(key, "\xBD\n");
  EXPECT_NE(socket.read_until("稽").find("\"offset\":4,\"text\":\"稽\\n\""), std::string::npos)
      << socket.read_until("稽");
  agent.end_worker(key, 0);
  EXPECT_NE(socket.read_all().find("event: end\n"), std::string::npos);
}

TEST(Http, logs_of_several_ranks_come_with_times) {
  ServerOptions options;
  FakeLogStore store(std::make_shared<FakeLogDisk>());
  options.log_store = &store;
  TestServer server(std::make_shared<FakeJournalDisk>(), options);
  TestAgent agent("a", server.addresses().grpc, 3);
  ASSERT_TRUE(eventually([&] { return agent.welcomed(); }));
  ask(server, "POST", "/v1/jobs", R"({"spec":{"command":["true"],"workers":3}})");
  for (int32_t rank = 0; rank < 3; ++rank) {
    const WorkerKey key{JobId{1}, 1, rank};
    ASSERT_TRUE(eventually([&] { return agent.has_worker(key); }));
    const std::string text = "rank " + std::to_string(rank) + "\n";
    MUST(store.append({key, LogStream::kOut}, text, true, {seconds(1'796'198'400).ns}));
  }
  const Reply reply = ask(server, "GET", "/v1/jobs/j1/logs?ranks=0,2&times=true");
  EXPECT_NE(reply.body.find(R"("rank":2,"stream":"out","offset":0,"text":"rank 2\n",)"
                            R"("marks":[{"offset":0,"at":"2026-12-02T08:00:00.000Z"}])"),
            std::string::npos)
      << reply.body;
  EXPECT_NE(reply.body.find("rank 0"), std::string::npos);
  EXPECT_EQ(reply.body.find("rank 1"), std::string::npos);
  EXPECT_EQ(reply.body.find("\nid: "), std::string::npos) << "no one number says where two stand";
  const Reply later = ask(server, "GET", "/v1/jobs/j1/logs?since=2030-01-01");
  EXPECT_EQ(later.body.find("rank 0"), std::string::npos) << later.body;
  const Reply absent = ask(server, "GET", "/v1/jobs/j1/logs?ranks=0,7");
  EXPECT_EQ(absent.status, 400);
  EXPECT_NE(absent.body.find("j1 has ranks 0 to 2, not 7"), std::string::npos) << absent.body;
  EXPECT_EQ(ask(server, "GET", "/v1/jobs/j1/logs?since=yesterday").status, 400);
}

TEST(Http, metrics_count_jobs_nodes_and_appends) {
  TestServer server;
  ask(server, "POST", "/v1/jobs", kJob);
  const Reply metrics = ask(server, "GET", "/metrics");
  for (const char* line : {"keiko_jobs{status=\"PENDING\"} 1", "keiko_submits_total 1",
                           "keiko_journal_append_seconds_count", "keiko_devices_free 0",
                           "keiko_nodes{status=\"READY\"} 0", "keiko_journal_writable 1"}) {
    EXPECT_NE(metrics.body.find(line), std::string::npos) << line << "\n" << metrics.body;
  }
  EXPECT_EQ(ask(server, "GET", "/openapi.yaml").body.compare(0, 8, "openapi:"), 0);
}

TEST(Http, server_json_tells_the_command_line_where_the_server_is) {
  char folder[] = "/tmp/keiko_server_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/server.json";
  {
    ServerOptions options;
    options.state_dir = folder;
    TestServer server(std::make_shared<FakeJournalDisk>(), options);
    const Json file = Json::parse(std::ifstream(path));
    EXPECT_EQ(file["pid"], getpid());
    EXPECT_EQ(file["grpc"], server.addresses().grpc);
    EXPECT_EQ(file["http"], server.addresses().http);
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0) << "removed when the server stops";
  rmdir(folder);
}

}  // namespace
}  // namespace keiko::server
