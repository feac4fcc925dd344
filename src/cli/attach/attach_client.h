// The client's end of Attach: descriptors and signals of this process on one side, a command in a
// worker or a connection to it on the other.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/attach/signal_stream.h"
#include "wire/attach/attach_call.h"

namespace keiko::cli {

/// What a call's bytes come from and go to; the owner closes them afterwards.
struct AttachEnds {
  int in = STDIN_FILENO;              ///< -1: none, and its end is told at once
  int out = STDOUT_FILENO;            ///< -1: dropped
  int err = STDERR_FILENO;
  bool socket = false;                ///< in and out are one socket, of which a half may close
  bool signals_leave = false;         ///< a signal ends the call; else it is passed on
  const SignalStream* signals = nullptr;
  std::function<void()> entered = {}; ///< the agent has let us in; of presence alone
};

/// One call, from its first frame to its outcome.
class AttachClient {
 public:
  AttachClient(AttachCall& call, AttachEnds ends);
  ~AttachClient();
  AttachClient(const AttachClient&) = delete;
  AttachClient& operator=(const AttachClient&) = delete;

  /// Once. Blocks until it is over; uses a thread of its own meanwhile.
  /// RETURNS: the command's exit code, 128 + signal after a signal, 0 for a connection; kCancelled
  /// if we left; kAborted if a connection broke; kUnavailable if server, node or the way between
  /// was lost.
  Result<int> run(const v1::AttachOpen& open);

  /// Ends run() soon. Safe from any thread.
  void leave();

 private:
  void read_all();
  bool take_data(const v1::AttachData& data);
  void send_all();
  void take_signal(int number);
  void send_input();
  void send_ended();
  void wake();
  Result<int> outcome(const Done& finished) const;

  AttachCall& call_;
  const AttachEnds ends_;
  const int wake_;
  bool terminal_ = false;
  std::atomic<int64_t> window_;
  std::atomic<bool> over_ = false;
  std::atomic<bool> left_ = false;
  bool input_ended_ = false;  // the sender's
  int interrupts_ = 0;        // the sender's
  std::optional<v1::AttachEnd> end_;
};

/// Writes all of it to a descriptor that blocks. RETURNS: false if nobody reads it any more.
bool write_whole(int fd, std::string_view bytes);

/// Runs a command with this process's own streams. With open.terminal, standard input must be a
/// terminal; it is raw meanwhile, and put back on every way out. Otherwise signals that would end
/// us are passed on; the third leaves.
/// RETURNS: as AttachClient::run().
Result<int> attach_and_wait(const std::string& server, const v1::AttachOpen& open,
                            const SignalStream& signals);

}  // namespace keiko::cli
