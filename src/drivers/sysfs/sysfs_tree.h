// SysfsTree: the kernel's text files below a root that tests move. Every read is bounded, follows
// links, and says nothing rather than something wrong: the kernel ends each value with a newline,
// so a value without one was cut off and is no value. For one thread; keeps nothing between calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keiko {

/// The smallest and the largest number that a file may tell; beyond them it is nonsense.
struct NumberRange {
  int64_t least = 0;
  int64_t most = INT64_MAX;
};

class SysfsTree {
 public:
  /// `root` is what "/" is elsewhere: it holds sys, proc and dev.
  explicit SysfsTree(std::string root = "/");

  /// RETURNS: the whole text of the file without the newline at its end; nothing if it is not
  /// there, may not be read, is empty, was cut off, or is longer than 256 KiB.
  std::optional<std::string> text(const std::string& path) const;

  /// RETURNS: the one number in the file, decimal or after "0x" hexadecimal; nothing if there is
  /// anything else in it or it is out of `range`.
  std::optional<int64_t> number(const std::string& path, NumberRange range = {}) const;

  /// RETURNS: the names in a folder in the order in which people count: node2 before node10.
  std::vector<std::string> names(const std::string& folder) const;

  /// RETURNS: the path below the root that `path` leads to, all links followed; empty if that is
  /// nowhere, or outside of the root.
  std::string resolved(const std::string& path) const;

  /// RETURNS: the last part of what the link at `path` points to, which need not be there itself:
  /// a device's "driver" and "subsystem". Empty if it is no link.
  std::string link_name(const std::string& path) const;

  bool exists(const std::string& path) const;

  /// RETURNS: the first name in a folder that is `stem` and a number: "card0". Empty if none is.
  std::string numbered_name(const std::string& folder, const std::string& stem) const;

  /// RETURNS: the path by which this process opens `path`: the root stands before it.
  std::string full(const std::string& path) const { return root_ + path; }

 private:
  std::string root_;       ///< without a slash at its end; empty for "/"
  std::string canonical_;  ///< the same with links followed
};

/// Reads a number that is all of `text`, decimal with a sign or "0x" hexadecimal.
/// RETURNS: nothing for anything else and for what int64_t cannot hold.
std::optional<int64_t> parse_whole_number(std::string_view text);

/// RETURNS: 128 for "renderD128" and the stem "renderD"; nothing for any other name.
std::optional<int64_t> number_after(std::string_view stem, std::string_view name);

/// RETURNS: the "key value" lines of a text whose values are numbers in 0 to 2^64-1, in order;
/// other lines are left out. REQUIRES: lines are whole, as SysfsTree::text gives them.
std::vector<std::pair<std::string, uint64_t>> parse_properties(std::string_view text);

}  // namespace keiko
