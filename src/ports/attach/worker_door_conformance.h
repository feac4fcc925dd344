// What every WorkerDoor must do, its fake included. A harness is a default-constructible class:
//
//   WorkerDoor& door();
//   WorkerKey worker();      // one that runs
//   void end_worker();       // and then does not
//   int echo_port();         // of its loopback: sends back what it gets, until that ends
//   int closed_port();       // nothing listens there
//
// Include this from a test and instantiate WorkerDoorConformance with the harness.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "ports/attach/worker_door.h"

namespace keiko {

template <class Harness>
class WorkerDoorConformance : public testing::Test {
 protected:
  static constexpr int kPatienceMs = 20'000;

  std::unique_ptr<Visit> enter(std::vector<std::string> argv) {
    VisitOrder order;
    order.argv = std::move(argv);
    Result<std::unique_ptr<Visit>> visit = harness_.door().enter(harness_.worker(), order);
    EXPECT_TRUE(visit.ok()) << visit.error().text();
    return visit.ok() ? std::move(*visit) : nullptr;
  }
  std::unique_ptr<Visit> enter_waiting() {
    std::unique_ptr<Visit> visit = enter({"sh", "-c", "echo ready; exec sleep 1000"});
    EXPECT_EQ(read_some(visit->out()), "ready\n");
    return visit;
  }
  static bool is_ready(int fd, int patience_ms) {
    pollfd wait{fd, POLLIN, 0};
    return poll(&wait, 1, patience_ms) == 1;
  }
  /// RETURNS: what comes first; empty at the end of the stream.
  static std::string read_some(int fd) {
    char buffer[4096];
    EXPECT_TRUE(is_ready(fd, kPatienceMs));
    const ssize_t got = read(fd, buffer, sizeof buffer);
    return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : "";
  }
  static VisitEnd wait_for_end(Visit& visit) {
    EXPECT_TRUE(is_ready(visit.news(), kPatienceMs));
    const std::optional<VisitEnd> end = visit.end();
    EXPECT_TRUE(end.has_value());
    return end.value_or(VisitEnd{});
  }

  Harness harness_;
};
TYPED_TEST_SUITE_P(WorkerDoorConformance);

TYPED_TEST_P(WorkerDoorConformance, both_outputs_and_the_exit_code_are_there_at_the_end) {
  const auto visit = this->enter({"sh", "-c", "echo out; echo err >&2; exit 7"});
  const VisitEnd end = this->wait_for_end(*visit);
  EXPECT_EQ(end.exit_code, 7);
  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(end.error.code, Code::kOk) << end.error.text();
  EXPECT_EQ(this->read_some(visit->out()), "out\n");
  EXPECT_EQ(this->read_some(visit->err()), "err\n");
}

TYPED_TEST_P(WorkerDoorConformance, input_reaches_the_command_and_so_does_its_end) {
  const auto visit = this->enter({"cat"});
  ASSERT_EQ(write(visit->in(), "hello", 5), 5);
  EXPECT_EQ(this->read_some(visit->out()), "hello");
  EXPECT_FALSE(visit->end().has_value());
  visit->close_in();
  EXPECT_EQ(this->wait_for_end(*visit).exit_code, 0);
  EXPECT_EQ(this->read_some(visit->out()), "") << "nothing follows";
}

TYPED_TEST_P(WorkerDoorConformance, nothing_of_a_visit_blocks) {
  const auto visit = this->enter_waiting();
  char byte;
  EXPECT_EQ(read(visit->out(), &byte, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_FALSE(visit->end().has_value());
  EXPECT_FALSE(this->is_ready(visit->news(), 0));
  const std::string piece(1 << 16, 'x');
  ssize_t put = 0;
  for (int i = 0; put >= 0 && i < 1000; ++i) put = write(visit->in(), piece.data(), piece.size());
  EXPECT_EQ(put, -1);
  EXPECT_EQ(errno, EAGAIN) << "the command takes nothing";
}

TYPED_TEST_P(WorkerDoorConformance, a_signal_ends_a_command_that_does_not_heed_it) {
  const auto visit = this->enter_waiting();
  visit->signal(SIGTERM);
  const VisitEnd end = this->wait_for_end(*visit);
  EXPECT_EQ(end.signal, SIGTERM);
  EXPECT_EQ(end.error.code, Code::kOk);
}

TYPED_TEST_P(WorkerDoorConformance, who_leaves_kills_the_command_and_waits_for_that) {
  auto visit = this->enter_waiting();
  const int there = dup(visit->out());
  visit.reset();
  EXPECT_EQ(this->read_some(there), "") << "nobody has the other end any more";
  close(there);
}

TYPED_TEST_P(WorkerDoorConformance, the_workers_end_is_the_commands) {
  const auto visit = this->enter_waiting();
  this->harness_.end_worker();
  const VisitEnd end = this->wait_for_end(*visit);
  EXPECT_EQ(end.error.code, Code::kFailedPrecondition);
  EXPECT_NE(end.error.message.find("worker has ended"), std::string::npos) << end.error.message;
}

TYPED_TEST_P(WorkerDoorConformance, a_command_that_is_not_there_is_named) {
  const auto visit = this->enter({"no-such-command"});
  const VisitEnd end = this->wait_for_end(*visit);
  EXPECT_NE(end.error.code, Code::kOk);
  EXPECT_NE(end.error.message.find("cannot run 'no-such-command'"), std::string::npos)
      << end.error.message;
}

TYPED_TEST_P(WorkerDoorConformance, a_worker_that_is_not_here_lets_nobody_in) {
  const WorkerKey absent{JobId{999}, 1, 0};
  WorkerDoor& door = this->harness_.door();
  VisitOrder order;
  order.argv = {"true"};
  EXPECT_EQ(door.enter(absent, order).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(door.connect(absent, this->harness_.echo_port()).error().code,
            Code::kFailedPrecondition);
  EXPECT_EQ(door.watch(absent).error().code, Code::kFailedPrecondition);
}

TYPED_TEST_P(WorkerDoorConformance, a_connection_goes_both_ways_and_ends_a_half_at_a_time) {
  auto opened = this->harness_.door().connect(this->harness_.worker(), this->harness_.echo_port());
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  Visit& visit = **opened;
  EXPECT_EQ(visit.in(), visit.out());
  EXPECT_EQ(visit.err(), -1);
  ASSERT_EQ(write(visit.in(), "ping", 4), 4);
  EXPECT_EQ(this->read_some(visit.out()), "ping");
  visit.close_in();
  EXPECT_EQ(this->read_some(visit.out()), "");
  EXPECT_FALSE(visit.end().has_value()) << "only the worker's end is one";
}

TYPED_TEST_P(WorkerDoorConformance, a_port_where_nobody_listens_is_refused_and_named) {
  const int port = this->harness_.closed_port();
  const auto refused = this->harness_.door().connect(this->harness_.worker(), port);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_NE(refused.error().message.find(std::to_string(port)), std::string::npos);
  EXPECT_EQ(this->harness_.door().connect(this->harness_.worker(), 0).error().code,
            Code::kInvalidArgument);
}

TYPED_TEST_P(WorkerDoorConformance, a_watch_ends_with_the_worker_and_has_no_streams) {
  auto opened = this->harness_.door().watch(this->harness_.worker());
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  Visit& visit = **opened;
  EXPECT_EQ(visit.in(), -1);
  EXPECT_EQ(visit.out(), -1);
  EXPECT_EQ(visit.err(), -1);
  EXPECT_FALSE(visit.end().has_value());
  this->harness_.end_worker();
  EXPECT_EQ(this->wait_for_end(visit).error.code, Code::kFailedPrecondition);
}

REGISTER_TYPED_TEST_SUITE_P(
    WorkerDoorConformance, both_outputs_and_the_exit_code_are_there_at_the_end,
    input_reaches_the_command_and_so_does_its_end, nothing_of_a_visit_blocks,
    a_signal_ends_a_command_that_does_not_heed_it, who_leaves_kills_the_command_and_waits_for_that,
    the_workers_end_is_the_commands, a_command_that_is_not_there_is_named,
    a_worker_that_is_not_here_lets_nobody_in,
    a_connection_goes_both_ways_and_ends_a_half_at_a_time,
    a_port_where_nobody_listens_is_refused_and_named,
    a_watch_ends_with_the_worker_and_has_no_streams);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WorkerDoorConformance);

}  // namespace keiko
