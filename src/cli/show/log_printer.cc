#include "cli/show/log_printer.h"

namespace keiko::cli {
namespace {

/// A line longer than this is printed in parts, so that a program without newlines costs no memory.
constexpr size_t kLongestLine = 64 * 1024;

}  // namespace

LogPrinter::LogPrinter(bool prefix, const Console& console, Print print)
    : prefix_(prefix), console_(console), print_(std::move(print)) {}

void LogPrinter::add(const v1::LogPiece& piece) {
  const Lane lane{piece.attempt(), piece.rank(), piece.stream()};
  attempt_ = std::max(attempt_, piece.attempt());
  const auto known = next_.find(lane);
  const int64_t next = known != next_.end() ? known->second : piece.offset();
  const int64_t end = piece.offset() + static_cast<int64_t>(piece.data().size());
  std::string fresh;
  if (end > next) {
    const int64_t seen = std::max<int64_t>(next - piece.offset(), 0);
    fresh = piece.data().substr(static_cast<size_t>(seen));
  }
  next_[lane] = std::max(next, end);
  if (!prefix_) {
    if (!fresh.empty()) print_(fresh, lane.stream == "err");
    return;
  }
  std::string& pending = pending_[lane];
  pending += fresh;
  print_lines(lane, pending, piece.ended());
}

void LogPrinter::print_lines(const Lane& lane, std::string& pending, bool all) {
  const std::string prefix = rank_prefix(lane.rank, console_);
  std::string out;
  size_t start = 0;
  while (start < pending.size()) {
    const size_t newline = pending.find('\n', start);
    if (newline == std::string::npos && !all && pending.size() - start < kLongestLine) break;
    const size_t end = newline == std::string::npos ? pending.size() : newline;
    out += prefix + pending.substr(start, end - start) + "\n";
    start = newline == std::string::npos ? end : end + 1;
  }
  pending.erase(0, start);
  if (!out.empty()) print_(out, lane.stream == "err");
}

void LogPrinter::flush() {
  for (auto& [lane, pending] : pending_) print_lines(lane, pending, /*all=*/true);
}

std::string rank_prefix(int32_t rank, const Console& console) {
  static constexpr Colour kColours[] = {Colour::kCyan, Colour::kGreen, Colour::kYellow,
                                        Colour::kBlue};
  return console.paint(kColours[rank >= 0 ? rank % 4 : 0], "[" + std::to_string(rank) + "]") + " ";
}

LogPrinter::Print print_to(const Console& console) {
  return [&console](const std::string& text, bool error) {
    if (error) console.err(text);
    else console.out(text);
  };
}

}  // namespace keiko::cli
