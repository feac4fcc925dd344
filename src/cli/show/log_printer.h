// LogPrinter: pieces of several streams of several ranks in, whole lines out, each with its rank in
// front where there are several. Bytes that came already are dropped, so a stream may be asked for
// again from an earlier place. Safe from one thread at a time.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "cli/console.h"
#include "keiko/v1/cluster.pb.h"

namespace keiko::cli {

struct Lane {
  int32_t attempt = 0;
  int32_t rank = 0;
  std::string stream;
  friend auto operator<=>(const Lane&, const Lane&) = default;
};

class LogPrinter {
 public:
  /// `prefix`: show "[rank] " before each line, and only whole lines. Otherwise bytes go out as
  /// they come. `print` gets the text and whether it is standard error's.
  using Print = std::function<void(const std::string& text, bool error)>;
  LogPrinter(bool prefix, const Console& console, Print print);

  void add(const v1::LogPiece& piece);
  /// Prints lines that never ended.
  void flush();

  /// Where the next piece of each lane should begin.
  const std::map<Lane, int64_t>& next_offsets() const { return next_; }
  /// The latest attempt seen, 0 if none.
  int32_t attempt() const { return attempt_; }

 private:
  void print_lines(const Lane& lane, std::string& pending, bool all);

  const bool prefix_;
  const Console& console_;
  const Print print_;
  std::map<Lane, int64_t> next_;
  std::map<Lane, std::string> pending_;
  int32_t attempt_ = 0;
};

/// RETURNS: "[3] " in a colour of its own for each rank.
std::string rank_prefix(int32_t rank, const Console& console);

/// RETURNS: a Print that writes to the console's out and err.
LogPrinter::Print print_to(const Console& console);

}  // namespace keiko::cli
