// A session between a fake door and a client that is a list of frames.
#include "agent/attach/attach_session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "agent/attach/fake_call.h"
#include "base/log.h"
#include "ports/attach/worker_door_fake.h"
#include "posix/fd.h"

namespace keiko::agent {
namespace {

constexpr WorkerKey kKey{JobId{7}, 1, 0};

class AttachSessionTest : public testing::Test {
 protected:
  AttachSessionTest() {
    set_log_level(LogLevel::kError);
    door_.begin_worker(kKey);
  }
  ~AttachSessionTest() override {
    client_->hang_up();
    wait();
    EXPECT_EQ(door_.count(), 0u) << "nothing stays behind";
    set_log_level(LogLevel::kInfo);
  }

  static v1::AttachOpen command(const std::vector<std::string>& argv) {
    v1::AttachOpen open;
    open.mutable_argv()->Assign(argv.begin(), argv.end());
    return open;
  }
  static v1::AttachOpen waiting() { return command({"sh", "-c", "echo ready; exec sleep 1000"}); }
  void serve(const v1::AttachOpen& open, const WorkerKey& key = kKey) {
    v1::AttachOrder order;
    order.set_token("secret");
    order.mutable_key()->set_job(key.job.number);
    order.mutable_key()->set_attempt(key.attempt);
    order.mutable_key()->set_rank(key.rank);
    *order.mutable_open() = open;
    thread_ = std::thread([this, order] {
      FakeCall call(client_);
      serve_attach(call, door_, order);
    });
  }
  /// Waits until the session is over.
  void wait() {
    if (thread_.joinable()) thread_.join();
  }
  int64_t window() {
    int64_t all = 0;
    for (const v1::AttachFrame& frame : client_->written()) all += frame.window();
    return all;
  }

  FakeWorkerDoor door_;
  std::shared_ptr<FakeClient> client_ = std::make_shared<FakeClient>();
  std::thread thread_;
};

TEST_F(AttachSessionTest, begins_with_the_token_and_ends_with_the_end_behind_all_output) {
  serve(command({"sh", "-c", "echo out; echo err >&2; exit 7"}));
  const v1::AttachEnd end = client_->end();
  EXPECT_EQ(end.exit_code(), 7);
  EXPECT_EQ(end.code(), "");
  EXPECT_EQ(client_->written().front().accept(), "secret");
  EXPECT_EQ(client_->text("out"), "out\n");
  EXPECT_EQ(client_->text("err"), "err\n");
}

TEST_F(AttachSessionTest, passes_input_on_and_gives_the_window_back) {
  serve(command({"cat"}));
  client_->send_input("hello ");
  client_->send_input("world", true);
  EXPECT_EQ(client_->end().exit_code(), 0);
  EXPECT_EQ(client_->text("out"), "hello world");
  EXPECT_EQ(window(), 11);
}

TEST_F(AttachSessionTest, keeps_input_that_the_command_does_not_take_yet) {
  // As one that was stopped by a signal and goes on later.
  Fd gate[2];
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  gate[0].reset(ends[0]);
  gate[1].reset(ends[1]);
  door_.set_program("late", [&](const FakeCommand& command) {
    char byte;
    [[maybe_unused]] const ssize_t got = read(gate[0].get(), &byte, 1);
    VisitEnd end;
    end.error.code = Code::kOk;
    while (const auto text = fake_read(command)) {
      if (text->empty() || !fake_write(command, command.out, *text)) break;
    }
    return end;
  });
  serve(command({"late"}));
  const std::string text(static_cast<size_t>(kAttachInputWindow), 'x');
  client_->send_input(text.substr(0, text.size() / 2));
  client_->send_input(text.substr(text.size() / 2), true);
  ASSERT_TRUE(client_->sees([](const auto& frames) {
    return !frames.empty() && frames.back().window() > 0;
  })) << "what its pipe took";
  EXPECT_LT(window(), kAttachInputWindow);
  gate[1].reset();
  client_->end();
  EXPECT_TRUE(client_->text("out") == text) << client_->text("out").size();
}

TEST_F(AttachSessionTest, a_client_that_keeps_no_window_is_left) {
  serve(waiting());
  const std::string piece(64 * 1024, 'x');
  for (int i = 0; i < 16; ++i) client_->send_input(piece);
  wait();
  EXPECT_TRUE(client_->is_cancelled());
  EXPECT_FALSE(client_->written().back().has_end());
}

TEST_F(AttachSessionTest, a_client_that_goes_takes_the_command_along) {
  serve(waiting());
  ASSERT_TRUE(client_->sees([](const auto& frames) { return frames.size() == 2; }));
  EXPECT_EQ(client_->text("out"), "ready\n");
  client_->hang_up();
  wait();
  EXPECT_EQ(door_.count(), 0u);
}

TEST_F(AttachSessionTest, passes_signals_on) {
  serve(waiting());
  client_->send_signal(SIGTERM);
  EXPECT_EQ(client_->end().signal(), SIGTERM);
}

TEST_F(AttachSessionTest, a_terminal_gets_its_size_at_first_and_later) {
  v1::AttachOpen open = command({"cat"});
  open.set_terminal(true);
  open.mutable_size()->set_rows(33);
  open.mutable_size()->set_columns(101);
  serve(open);
  client_->send_input("x");
  ASSERT_TRUE(client_->sees([](const auto& frames) { return frames.size() > 1; }));
  EXPECT_EQ(door_.last_size().rows, 33);
  v1::AttachFrame larger;
  larger.mutable_size()->set_rows(50);
  larger.mutable_size()->set_columns(1'000'000);
  client_->send(larger);
  client_->send_input("y");
  ASSERT_TRUE(client_->sees([](const auto& frames) {
    return frames.back().has_data() && frames.back().data().data() == "y";
  }));
  EXPECT_EQ(door_.last_size().rows, 50);
  EXPECT_EQ(door_.last_size().columns, 80) << "nonsense is not passed on";
}

TEST_F(AttachSessionTest, a_worker_that_is_not_here_is_told) {
  serve(command({"true"}), {JobId{8}, 1, 0});
  const v1::AttachEnd end = client_->end();
  EXPECT_EQ(end.code(), "failed_precondition");
  EXPECT_NE(end.message().find("does not run on this node"), std::string::npos) << end.message();
}

TEST_F(AttachSessionTest, the_workers_end_is_told) {
  serve(waiting());
  ASSERT_TRUE(client_->sees([](const auto& frames) { return frames.size() == 2; }));
  door_.end_worker(kKey);
  EXPECT_EQ(client_->end().code(), "failed_precondition");
}

TEST_F(AttachSessionTest, presence_says_that_it_is_in_and_ends_with_the_worker) {
  v1::AttachOpen open;
  open.set_presence(true);
  serve(open);
  ASSERT_TRUE(client_->sees([](const auto& frames) {
    return frames.size() == 2 && frames.back().body_case() == v1::AttachFrame::kWindow;
  }));
  door_.end_worker(kKey);
  EXPECT_EQ(client_->end().code(), "failed_precondition");
}

TEST_F(AttachSessionTest, a_connection_is_over_when_both_directions_are) {
  door_.set_port(8888, [](const FakeCommand& command) {
    fake_write(command, command.out, "greetings");
    while (const auto text = fake_read(command)) {
      if (text->empty()) break;
    }
    return VisitEnd{};
  });
  v1::AttachOpen open;
  open.set_port(8888);
  serve(open);
  ASSERT_TRUE(client_->sees([](const auto& frames) { return frames.size() == 2; }));
  EXPECT_EQ(client_->text("out"), "greetings");
  client_->send_input("bye", true);
  EXPECT_EQ(client_->end().code(), "") << client_->end().message();
  EXPECT_EQ(window(), 3);
}

TEST_F(AttachSessionTest, a_port_where_nobody_listens_is_told) {
  v1::AttachOpen open;
  open.set_port(8889);
  serve(open);
  EXPECT_EQ(client_->end().code(), "unavailable");
}

TEST_F(AttachSessionTest, what_was_written_before_the_end_arrives_however_late_it_is_read) {
  std::atomic<size_t> written = 0;
  door_.set_program("yes", [&written](const FakeCommand& command) {
    const std::string piece(4096, 'y');
    while (fake_write(command, command.out, piece)) written += piece.size();
    return fake_death(command);
  });
  serve(command({"yes"}));
  ASSERT_TRUE(client_->sees([](const auto& frames) { return frames.size() > 1; }));
  client_->hold(true);
  client_->send_signal(SIGTERM);  // heard though nobody reads
  client_->hold(false);
  EXPECT_EQ(client_->end().signal(), SIGTERM);
  EXPECT_GE(client_->text("out").size(), written.load());
}

}  // namespace
}  // namespace keiko::agent
