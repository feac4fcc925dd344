#include "cli/show/live_screen.h"

namespace keiko::cli {
namespace {

constexpr const char* kHideCursor = "\033[?25l";
constexpr const char* kShowCursor = "\033[?25h";
constexpr const char* kClearToEndOfLine = "\033[K";
constexpr const char* kClearBelow = "\033[J";

std::string up(size_t lines) { return lines == 0 ? "" : "\033[" + std::to_string(lines) + "A"; }

/// `line` in at most `width` columns; a line with colours is cut between its visible characters.
std::string cut(const std::string& line, size_t width) {
  if (display_width(line) <= width) return line;
  std::string out;
  size_t at = 0;
  while (at < line.size()) {
    size_t next = at + 1;
    if (line.compare(at, 2, "\033[") == 0) {
      const size_t end = line.find('m', at);
      next = end == std::string::npos ? line.size() : end + 1;
    } else {
      while (next < line.size() && (static_cast<unsigned char>(line[next]) & 0xC0) == 0x80) ++next;
    }
    const std::string piece = line.substr(at, next - at);
    if (display_width(out + piece) > width) break;
    out += piece;
    at = next;
  }
  return out + "\033[0m";
}

/// The first lines that fit into `size`, each cut to its width; the last says how many are hidden.
std::vector<std::string> fitting(const std::vector<std::string>& lines, ScreenSize size) {
  const size_t room = size.height > 1 ? static_cast<size_t>(size.height) - 1 : 1;
  const size_t width = static_cast<size_t>(size.width);
  std::vector<std::string> shown;
  for (const std::string& line : lines) {
    if (shown.size() == room) break;
    shown.push_back(cut(line, width));
  }
  const size_t hidden = lines.size() - shown.size();
  if (hidden > 0) {
    shown.back() =
        cut("... " + std::to_string(hidden + 1) + " more lines in a taller window", width);
  }
  return shown;
}

}  // namespace

void LiveScreen::draw(const std::vector<std::string>& lines) {
  const ScreenSize size = console_.size();
  const bool resized = size.width != size_.width || size.height != size_.height;
  size_ = size;
  std::vector<std::string> next = fitting(lines, size);
  std::string out = open_ ? "" : kHideCursor;
  out += "\r" + up(shown_.size());
  for (size_t i = 0; i < next.size(); ++i) {
    // A resize moves what is on the screen, so everything is sent again.
    const bool same = !resized && i < shown_.size() && shown_[i] == next[i];
    if (!same) out += next[i] + kClearToEndOfLine;
    out += "\r\n";
  }
  if (next.size() < shown_.size() || resized) out += kClearBelow;
  const bool changed = resized || next != shown_ || !open_;
  open_ = true;
  shown_ = std::move(next);
  if (changed) console_.out(out);
}

void LiveScreen::print_above(const std::string& text) {
  if (!open_) {
    console_.out(text);
    return;
  }
  std::string out = "\r" + up(shown_.size()) + kClearBelow + text;
  for (const std::string& line : shown_) out += line + "\r\n";
  console_.out(out);
}

void LiveScreen::close() {
  if (!open_) return;
  open_ = false;
  shown_.clear();
  console_.out(kShowCursor);
}

}  // namespace keiko::cli
