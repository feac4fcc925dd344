#include "drivers/sysfs/sysfs_tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/id.h"
#include "base/text.h"

namespace keiko {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = size_t{256} << 10;

/// Reads all of a file, or more than kMostBytes of it. RETURNS: false if it cannot be read.
bool read_all(const std::string& path, std::string& text) {
  // Not an ifstream: sysfs answers a read of its own with EIO or ENODEV, which must not look empty.
  // O_NONBLOCK: a name may be a pipe in a tree that is not the kernel's.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  char buffer[16'384];
  ssize_t got = 0;
  while (text.size() <= kMostBytes && (got = read(file, buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<size_t>(got));
  }
  close(file);
  return got >= 0;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Runs of digits compare by their number, the rest by its letters.
bool counts_before(const std::string& a, const std::string& b) {
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    size_t a_end = i;
    size_t b_end = j;
    while (a_end < a.size() && is_digit(a[a_end])) ++a_end;
    while (b_end < b.size() && is_digit(b[b_end])) ++b_end;
    if (a_end - i != b_end - j) return a_end - i < b_end - j;
    const int order = a.compare(i, a_end - i, b, j, b_end - j);
    if (order != 0) return order < 0;
    i = a_end;
    j = b_end;
  }
  return a.size() - i < b.size() - j;
}

template <class T>
bool parse_all(std::string_view text, int base, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

SysfsTree::SysfsTree(std::string root) : root_(std::move(root)) {
  while (!root_.empty() && root_.back() == '/') root_.pop_back();
  std::error_code error;
  const fs::path real = fs::canonical(root_.empty() ? "/" : root_, error);
  canonical_ = error || real == "/" ? root_ : real.string();
}

std::optional<std::string> SysfsTree::text(const std::string& path) const {
  std::string read;
  if (!read_all(full(path), read) || read.size() > kMostBytes) return std::nullopt;
  if (read.size() < 2 || read.back() != '\n') return std::nullopt;
  read.pop_back();
  return read;
}

std::optional<int64_t> SysfsTree::number(const std::string& path, NumberRange range) const {
  const std::optional<std::string> read = text(path);
  if (!read) return std::nullopt;
  const std::optional<int64_t> number = parse_whole_number(*read);
  if (!number || *number < range.least || *number > range.most) return std::nullopt;
  return number;
}

std::vector<std::string> SysfsTree::names(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(full(folder), error);
  while (!error && entry != fs::directory_iterator()) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  std::sort(names.begin(), names.end(), counts_before);
  return names;
}

std::string SysfsTree::resolved(const std::string& path) const {
  std::error_code error;
  const std::string real = fs::canonical(full(path), error).string();
  if (error || real.compare(0, canonical_.size(), canonical_) != 0) return {};
  const std::string below = real.substr(canonical_.size());
  return below.empty() || below.front() != '/' ? std::string() : below;
}

std::string SysfsTree::link_name(const std::string& path) const {
  std::error_code error;
  const fs::path target = fs::read_symlink(full(path), error);
  return error ? std::string() : target.filename().string();
}

bool SysfsTree::exists(const std::string& path) const {
  std::error_code error;
  return fs::exists(full(path), error) && !error;
}

std::string SysfsTree::numbered_name(const std::string& folder, const std::string& stem) const {
  for (std::string& name : names(folder)) {
    if (number_after(stem, name)) return std::move(name);
  }
  return {};
}

std::optional<int64_t> number_after(std::string_view stem, std::string_view name) {
  uint64_t number = 0;
  if (name.substr(0, stem.size()) != stem) return std::nullopt;
  if (!parse_digits(name.substr(stem.size()), number) || number > INT32_MAX) return std::nullopt;
  return static_cast<int64_t>(number);
}

std::optional<int64_t> parse_whole_number(std::string_view text) {
  int64_t number = 0;
  const bool hexadecimal = text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X";
  if (hexadecimal && text.substr(2, 1) == "-") return std::nullopt;
  if (!parse_all(hexadecimal ? text.substr(2) : text, hexadecimal ? 16 : 10, number)) {
    return std::nullopt;
  }
  return number;
}

std::vector<std::pair<std::string, uint64_t>> parse_properties(std::string_view text) {
  std::vector<std::pair<std::string, uint64_t>> properties;
  for (const std::string& line : split(text, '\n')) {
    const size_t space = line.find(' ');
    uint64_t value = 0;
    if (space == 0 || space == std::string::npos) continue;
    if (!parse_all(std::string_view(line).substr(space + 1), 10, value)) continue;
    properties.emplace_back(line.substr(0, space), value);
  }
  return properties;
}

}  // namespace keiko
