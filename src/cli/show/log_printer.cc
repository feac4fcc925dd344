#include "cli/show/log_printer.h"

#include <algorithm>
#include <iterator>

namespace keiko::cli {
namespace {

/// A line longer than this is printed in parts, so that a program without newlines costs no memory.
constexpr size_t kLongestLine = 64 * 1024;
/// Lines that wait for their order; a longer log is in order only within such parts.
constexpr size_t kMostWaiting = 256u << 20;

}  // namespace

LogPrinter::LogPrinter(LogLook look, const Console& console, Print print)
    : look_(std::move(look)), console_(console), print_(std::move(print)) {}

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
  if (!look_.by_line()) {
    if (!fresh.empty()) print_(fresh, lane.stream == "err");
    return;
  }
  Pending& pending = pending_[lane];
  if (pending.text.empty()) pending.offset = std::max(next, piece.offset());
  if (look_.times && !fresh.empty()) take_marks(piece, pending);
  pending.text += fresh;
  print_lines(lane, pending, piece.ended());
}

/// What comes from a node itself has no times yet; it came just now.
void LogPrinter::take_marks(const v1::LogPiece& piece, Pending& pending) {
  for (const v1::LogMark& mark : piece.marks()) {
    pending.marks[mark.offset()] = mark.at().seconds() * 1'000'000'000 + mark.at().nanos();
  }
  if (piece.marks().empty()) pending.marks[piece.offset()] = console_.now().ns;
}

int64_t LogPrinter::time_of(Pending& pending, int64_t offset) {
  const auto after = pending.marks.upper_bound(offset);
  if (after == pending.marks.begin()) return 0;
  const auto holds = std::prev(after);
  const int64_t at_ns = holds->second;
  pending.marks.erase(pending.marks.begin(), holds);
  return at_ns;
}

void LogPrinter::print_lines(const Lane& lane, Pending& pending, bool all) {
  const std::string prefix = look_.prefix ? rank_prefix(lane.rank, console_) : "";
  std::string& text = pending.text;
  const bool error = lane.stream == "err";
  std::string out;
  size_t start = 0;
  while (start < text.size()) {
    const size_t newline = text.find('\n', start);
    if (newline == std::string::npos && !all && text.size() - start < kLongestLine) break;
    const size_t end = newline == std::string::npos ? text.size() : newline;
    const std::string line = text.substr(start, end - start);
    const int64_t offset = pending.offset + static_cast<int64_t>(start);
    start = newline == std::string::npos ? end : end + 1;
    const int64_t at_ns = look_.times ? time_of(pending, offset) : 0;
    if (look_.wanted && !look_.wanted(line)) continue;
    const std::string time = look_.times ? to_text(WallTime{at_ns}) + " " : "";
    std::string whole = time + prefix + line + "\n";
    if (!look_.in_order) {
      out += whole;
      continue;
    }
    waiting_bytes_ += whole.size();
    waiting_.push_back({at_ns, std::move(whole), error});
  }
  text.erase(0, start);
  pending.offset += static_cast<int64_t>(start);
  if (!out.empty()) print_(out, error);
  if (waiting_bytes_ > kMostWaiting) print_waiting();
}

void LogPrinter::print_waiting() {
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [](const Line& a, const Line& b) { return a.at_ns < b.at_ns; });
  for (const Line& line : waiting_) print_(line.text, line.error);
  waiting_.clear();
  waiting_bytes_ = 0;
}

void LogPrinter::flush() {
  for (auto& [lane, pending] : pending_) print_lines(lane, pending, /*all=*/true);
  print_waiting();
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
