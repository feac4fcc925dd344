// WorkerSession: what a worker and its agent tell each other over the Unix socket KEIKO_SOCKET, one
// JSON object a line.
//
// Up: hello, progress, checkpoint, ack. Down: notice. A thread of its own does all I/O: training
// never waits for the agent. While the agent is away (it restarts, or never was) progress is
// dropped and the rest is kept until it is back; hello opens every connection. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/time.h"

namespace keiko::train {

struct SessionOptions {
  std::string socket_path;  ///< empty: there is no agent, and nothing is sent
  std::string job;          ///< what hello says of us: the job,
  int rank = 0;             ///< which of its ranks,
  int attempt = 1;          ///< and which start of it, so that an agent drops late words
  /// How long to wait before dialling again.
  Duration redial = milliseconds(200);
};

struct ProgressReport {
  int64_t step = 0;
  int64_t total_steps = 0;
  double loss = 0;
  int64_t samples = 0;  ///< since the run began, over all attempts
  int64_t tokens = 0;
  double tokens_per_s = 0;
};

/// The agent asks for a checkpoint and an end within `deadline`.
struct SessionNotice {
  int64_t id = 0;
  Duration deadline;
  std::string reason;
};

class WorkerSession {
 public:
  explicit WorkerSession(const SessionOptions& options);
  ~WorkerSession();

  void progress(const ProgressReport& report);
  void checkpoint(int64_t step, const std::string& ref);
  void ack(int64_t id);

  /// RETURNS: the first notice that has come, without waiting.
  std::optional<SessionNotice> notice() const;

  /// Waits until everything is sent, `limit` at most. RETURNS: whether it was.
  bool flush(Duration limit);

 private:
  void run();
  void converse(int fd);
  bool send_some(int fd);
  bool receive_some(int fd, std::string& input);
  void handle_line(const std::string& line);
  void post(std::string line, bool may_drop);
  int dial() const;

  const SessionOptions options_;
  int wake_fd_ = -1;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> outbox_;
  size_t sent_of_front_ = 0;
  bool hello_waits_ = false;  ///< the front of the outbox is this connection's hello
  std::optional<SessionNotice> notice_;
  bool connected_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace keiko::train
