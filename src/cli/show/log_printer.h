// LogPrinter: pieces of several streams of several ranks in, whole lines out, each with its rank in
// front where there are several, and its time if that is asked for. Bytes that came already are
// dropped, so a stream may be asked for again from an earlier place. Safe from one thread at a
// time.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/console.h"
#include "keiko/v1/cluster.pb.h"

namespace keiko::cli {

struct Lane {
  int32_t attempt = 0;
  int32_t rank = 0;
  std::string stream;
  friend auto operator<=>(const Lane&, const Lane&) = default;
};

/// How lines look; with all of it off bytes go out as they come.
struct LogLook {
  bool prefix = false;   ///< "[rank] " before each line
  bool times = false;    ///< the time before each line at which it reached the server
  bool in_order = false; ///< with times: lines of all ranks by time, at flush()
  std::function<bool(const std::string& line)> wanted = {};  ///< other lines are left out

  bool by_line() const { return prefix || times || wanted != nullptr; }
};

class LogPrinter {
 public:
  /// `print` gets the text and whether it is standard error's.
  using Print = std::function<void(const std::string& text, bool error)>;
  LogPrinter(LogLook look, const Console& console, Print print);

  void add(const v1::LogPiece& piece);
  /// Prints lines that never ended, and what waits for its order.
  void flush();

  /// Where the next piece of each lane should begin.
  const std::map<Lane, int64_t>& next_offsets() const { return next_; }
  /// The latest attempt seen, 0 if none.
  int32_t attempt() const { return attempt_; }

 private:
  struct Pending {
    std::string text;                  ///< a line that has not ended
    int64_t offset = 0;                ///< of its first byte
    std::map<int64_t, int64_t> marks;  ///< ns of the time by the offset from which it holds
  };
  struct Line {
    int64_t at_ns = 0;
    std::string text;
    bool error = false;
  };

  void print_lines(const Lane& lane, Pending& pending, bool all);
  void take_marks(const v1::LogPiece& piece, Pending& pending);
  static int64_t time_of(Pending& pending, int64_t offset);
  void print_waiting();

  const LogLook look_;
  const Console& console_;
  const Print print_;
  std::map<Lane, int64_t> next_;
  std::map<Lane, Pending> pending_;
  std::vector<Line> waiting_;          ///< for their order
  size_t waiting_bytes_ = 0;
  int32_t attempt_ = 0;
};

/// RETURNS: "[3] " in a colour of its own for each rank.
std::string rank_prefix(int32_t rank, const Console& console);

/// RETURNS: a Print that writes to the console's out and err.
LogPrinter::Print print_to(const Console& console);

}  // namespace keiko::cli
