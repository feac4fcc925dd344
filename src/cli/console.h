// The terminal as a verb sees it: where text goes, whether someone looks at it, what time it is,
// and whether the user has pressed Ctrl-C. Tests hand in their own.
//
// Colour and drawing happen only on a terminal; NO_COLOR (any value) takes the colour away.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace keiko::cli {

enum class Colour { kPlain, kBold, kDim, kRed, kGreen, kYellow, kBlue, kCyan };

struct ScreenSize {
  int width = 80;
  int height = 24;
};

struct Console {
  std::function<void(std::string_view)> out;   ///< answers
  std::function<void(std::string_view)> err;   ///< errors, hints, progress of the verb itself
  bool terminal = false;                       ///< a person looks at `out`
  bool colour = false;
  std::function<ScreenSize()> size = [] { return ScreenSize(); };
  std::function<Time()> now;                   ///< for ages; decides nothing
  /// Waits up to `span`. RETURNS: how often Ctrl-C was pressed so far; at once when it is pressed.
  std::function<int(Duration span)> wait;
  std::function<int()> interrupts;             ///< how often Ctrl-C was pressed so far

  /// RETURNS: `text` in `colour` if colours are on.
  std::string paint(Colour colour_of_text, std::string_view text) const;
  void line(std::string_view text) const { out(std::string(text) + "\n"); }
  void hint(std::string_view text) const { err(std::string(text) + "\n"); }
};

/// RETURNS: the process's own terminal. From then on Ctrl-C only counts; a verb that runs on looks
/// at it with wait() or interrupts(). Verbs that want the default call restore_interrupts().
Console process_console();
void catch_interrupts();
void restore_interrupts();

// ---- pieces of terminal text ----

/// RETURNS: columns that `text` takes on a terminal (UTF-8; wide characters count two).
size_t display_width(std::string_view text);

/// RETURNS: `text` in at most `width` columns; what is cut shows as "…".
std::string shorten(std::string_view text, size_t width);

/// RETURNS: `text` without what could command a terminal: control characters become spaces.
std::string printable(std::string_view text);

}  // namespace keiko::cli
