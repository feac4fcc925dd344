#include "drivers/images/store/tar_reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/text.h"

namespace keiko::images {
namespace {

constexpr size_t kBlock = 512;
constexpr int64_t kLongestText = 1024 * 1024;  // of a name or a pax record
constexpr int64_t kLargest = int64_t{1} << 50;

std::string text_at(const char* block, size_t at, size_t size) {
  return {block + at, strnlen(block + at, size)};
}

/// Octal digits, or GNU's binary form for what these cannot hold. RETURNS: -1 if it is neither.
int64_t number_at(const char* block, size_t at, size_t size) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(block + at);
  int64_t value = 0;
  if (bytes[0] == 0x80) {
    for (size_t i = 1; i < size; ++i) {
      if (value > kLargest) return -1;
      value = value * 256 + bytes[i];
    }
    return value;
  }
  size_t i = 0;
  while (i < size && bytes[i] == ' ') ++i;
  for (; i < size && bytes[i] != 0 && bytes[i] != ' '; ++i) {
    if (bytes[i] < '0' || bytes[i] > '7' || value > kLargest) return -1;
    value = value * 8 + (bytes[i] - '0');
  }
  return value;
}

bool sum_fits(const char* block) {
  int64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum == number_at(block, 148, 8);
}

std::optional<TarKind> kind_of(char flag) {
  switch (flag) {
    case '\0':
    case '0':
    case '7': return TarKind::kFile;
    case '1': return TarKind::kHardLink;
    case '2': return TarKind::kSymlink;
    case '3':
    case '4': return TarKind::kDevice;
    case '5': return TarKind::kFolder;
    case '6': return TarKind::kFifo;
    default: return std::nullopt;
  }
}

Error broken(const std::string& what) { return data_loss("it is no whole tar archive: " + what); }

}  // namespace

/// What stands before an entry and belongs to it.
struct TarReader::Extension {
  std::optional<std::string> name, target;
  std::optional<int64_t> size, user, group, mtime;

  Done read_pax(std::string_view text);
  void set(const std::string& key, const std::string& value);
  void lay_on(TarEntry& entry) const;
};

void TarReader::Extension::set(const std::string& key, const std::string& value) {
  int64_t number = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = read.ec == std::errc() && number >= 0 && number <= kLargest;
  if (key == "path") name = value;
  if (key == "linkpath") target = value;
  if (!whole) return;
  if (key == "size") size = number;
  if (key == "uid") user = number;
  if (key == "gid") group = number;
  if (key == "mtime") mtime = number;
}

/// Records of "LENGTH KEY=VALUE\n", where LENGTH counts all of the record.
Done TarReader::Extension::read_pax(std::string_view text) {
  while (!text.empty()) {
    size_t length = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<size_t>(read.ptr - text.data());
    if (read.ec != std::errc() || length <= digits + 1 || length > text.size() ||
        text[length - 1] != '\n') {
      return broken("a pax record is damaged");
    }
    const std::string_view record = text.substr(digits + 1, length - digits - 2);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) return broken("a pax record has no value");
    set(std::string(record.substr(0, equals)), std::string(record.substr(equals + 1)));
    text.remove_prefix(length);
  }
  return done();
}

void TarReader::Extension::lay_on(TarEntry& entry) const {
  if (name) entry.name = *name;
  if (target) entry.target = *target;
  if (size) entry.size = *size;
  if (user) entry.user = *user;
  if (group) entry.group = *group;
  if (mtime) entry.mtime = *mtime;
}

/// RETURNS: false if the source ended just before it.
Result<bool> TarReader::read_block(char* block) {
  size_t have = 0;
  while (have < kBlock) {
    const size_t got = TRY(source_.read(block + have, kBlock - have));
    if (got == 0 && have == 0) return false;
    if (got == 0) return broken("it is cut short");
    have += got;
  }
  at_ += static_cast<int64_t>(kBlock);
  return true;
}

Result<size_t> TarReader::read(char* buffer, size_t size) {
  const auto wanted = std::min<uint64_t>(size, static_cast<uint64_t>(left_));
  if (wanted == 0) return size_t{0};
  const size_t got = TRY(source_.read(buffer, wanted));
  if (got == 0) return broken("it is cut short");
  left_ -= static_cast<int64_t>(got);
  at_ += static_cast<int64_t>(got);
  return got;
}

Done TarReader::skip_rest() {
  left_ += padding_;
  padding_ = 0;
  char waste[16 * 1024];
  while (TRY(read(waste, sizeof waste)) > 0) continue;
  return done();
}

Result<std::string> TarReader::read_text(int64_t size) {
  if (size < 0 || size > kLongestText) return broken("a name in it is longer than 1 MiB");
  std::string text(static_cast<size_t>(size), '\0');
  for (size_t have = 0; have < text.size();) {
    have += TRY(read(text.data() + have, text.size() - have));
  }
  return text;
}

Result<std::optional<TarEntry>> TarReader::next() {
  Extension extension;
  while (true) {
    TRY(skip_rest());
    char block[kBlock];
    if (!TRY(read_block(block))) return broken("it is cut short, or empty");
    if (std::all_of(block, block + kBlock, [](char c) { return c == 0; })) {
      return std::optional<TarEntry>();
    }
    if (!sum_fits(block)) return broken("a header's sum is wrong");
    TarEntry entry;
    entry.name = text_at(block, 0, 100);
    entry.target = text_at(block, 157, 100);
    entry.mode = number_at(block, 100, 8);
    entry.user = number_at(block, 108, 8);
    entry.group = number_at(block, 116, 8);
    entry.size = number_at(block, 124, 12);
    entry.mtime = number_at(block, 136, 12);
    const std::string prefix = text_at(block, 345, 155);
    const bool posix = std::memcmp(block + 257, "ustar\0", 6) == 0;
    if (posix && !prefix.empty()) entry.name = prefix + "/" + entry.name;
    const char flag = block[156];
    if (flag != 'L' && flag != 'K' && flag != 'x' && flag != 'g') extension.lay_on(entry);
    if (entry.size < 0 || entry.size > kLargest) return broken("an entry's size is none");
    const std::optional<TarKind> kind = kind_of(flag);
    const bool has_bytes = !kind || *kind == TarKind::kFile;
    left_ = has_bytes ? entry.size : 0;
    padding_ = (static_cast<int64_t>(kBlock) - left_ % static_cast<int64_t>(kBlock)) %
               static_cast<int64_t>(kBlock);
    entry.data_at = at_;
    if (kind) {
      entry.kind = *kind;
      return std::optional(std::move(entry));
    }
    if (flag == 'S') return failed_precondition("it has sparse files, which are not read here");
    const bool wanted = flag == 'x' || flag == 'L' || flag == 'K';
    const std::string text = wanted ? TRY(read_text(entry.size)) : std::string();
    if (flag == 'x') TRY(extension.read_pax(text));
    if (flag == 'L') extension.name = text.c_str();
    if (flag == 'K') extension.target = text.c_str();
  }
}

}  // namespace keiko::images
