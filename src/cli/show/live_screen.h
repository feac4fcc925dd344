// LiveScreen: a block of lines at the bottom of a terminal, redrawn in place. Only lines that
// changed are sent. Text for the scrollback goes above the block with print_above().
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace keiko::cli {

class LiveScreen {
 public:
  explicit LiveScreen(const Console& console) : console_(console) {}
  ~LiveScreen() { close(); }
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  /// Shows `lines` instead of what was there; lines that do not fit the terminal are cut.
  void draw(const std::vector<std::string>& lines);

  /// Takes the block away, prints `text` (whole lines), and draws the block again below it.
  void print_above(const std::string& text);

  /// Leaves the last block where it is and gives the cursor back. Calling it again does nothing.
  void close();

 private:
  const Console& console_;
  std::vector<std::string> shown_;
  ScreenSize size_;
  bool open_ = false;
};

}  // namespace keiko::cli
