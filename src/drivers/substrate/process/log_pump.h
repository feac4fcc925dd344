// One stream of a worker on its way to its log file, with a cap.
//
// The program writes into a pipe of its shim, which lives exactly as long as the worker, and the
// shim writes the file. Judged against giving the program the file itself:
//   survival   equal: the agent has no part in either.
//   cap        the pump stops exactly at the limit and marks the place once. With the file in the
//              program's hands a poller would have to truncate behind its back: the file would
//              shrink, and offsets that a reader already has would lie. RLIMIT_FSIZE kills.
//   disk full  the pump drops and says so; the program runs on. With the file, its write fails.
//   ordering   equal; a stream is one pipe, read in order.
//   speed      the file is faster, by one copy and a wake-up; the pipe is made 1 MiB so that the
//              program rarely waits (figures: process_substrate_bench.cc).
//   last words all that was written before the end is still in the pipe and is drained.
// Single-threaded.
#pragma once

#include <string>

#include "base/bytes.h"
#include "drivers/substrate/process/files.h"

namespace keiko::process {

class LogPump {
 public:
  /// `limit` 0: no cap. The file is appended to; it is made if need be.
  LogPump(const std::string& path, Bytes limit);

  /// Opens the pipe. RETURNS: the end for the program, close-on-exec.
  Result<Fd> open();

  /// To poll for reading; -1 once the stream has ended.
  int fd() const { return pipe_.get(); }

  /// Moves what is there now, at most `kTurnBytes` of it, so that both streams and signals get
  /// their turn. RETURNS: whether there may be more at once.
  bool pump();

  /// Moves everything that is in the pipe, without waiting for more.
  void drain();

  /// RETURNS: a sentence if the end of the output was dropped, so that the log itself cannot tell.
  std::string lost() const;

  static constexpr int64_t kTurnBytes = 4 << 20;

 private:
  void take(std::string_view bytes);
  void put(std::string_view bytes);

  std::string path_;
  Bytes limit_;
  Fd pipe_;
  Fd file_;
  int64_t written_ = 0;
  bool at_line_start_ = true;
  bool capped_ = false;
  bool dropping_ = false;  ///< the disk would not take the last piece
  std::string why_;        ///< ... because of this
};

}  // namespace keiko::process
