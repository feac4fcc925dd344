// FakeAgentLink: a link whose other end is the test. Calls of the listener come from the test's
// thread, in the middle of what the test does.
#pragma once

#include <string>
#include <vector>

#include "wire/agent_client.h"

namespace keiko::agent {

class FakeAgentLink : public AgentLink {
 public:
  explicit FakeAgentLink(AgentListener& listener) : listener_(listener) {}

  void open(const std::string& address) override {
    ++opened_count;
    server = address;
    dialling = true;
  }
  Done send(const AgentHello& hello) override { return keep(hellos, hello); }
  Done send(const AgentReport& report) override { return keep(reports, report); }
  Done send(const LogChunk& chunk) override { return keep(chunks, chunk); }
  Done send(const HealthReport& report) override { return keep(health, report); }
  Done send(const std::vector<Reading>& news) override { return keep(readings, news); }
  void close() override {
    if (up || dialling) lose("closed by this side");
  }

  /// The server takes the call.
  void connect() {
    dialling = false;
    up = true;
    listener_.on_connected();
  }
  void lose(const std::string& why) {
    dialling = false;
    up = false;
    listener_.on_closed(unavailable(why));
  }
  void say(ServerMessage message) { listener_.on_message(std::move(message)); }

  bool dialling = false;
  bool up = false;
  int opened_count = 0;
  std::string server;
  std::vector<AgentHello> hellos;
  std::vector<AgentReport> reports;
  std::vector<LogChunk> chunks;
  std::vector<HealthReport> health;
  std::vector<std::vector<Reading>> readings;

 private:
  template <class T>
  Done keep(std::vector<T>& sent, const T& message) {
    if (!up) return unavailable("no stream is open");
    sent.push_back(message);
    return done();
  }
  AgentListener& listener_;
};

}  // namespace keiko::agent
