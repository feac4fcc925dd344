#include "train/checkpoint/section_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "base/check.h"
#include "base/digest.h"
#include "posix/fd.h"
#include "train/text/corpus.h"

namespace keiko::train {
namespace {

constexpr std::string_view kMagic = "KEIKOSF1";
constexpr size_t kNameSize = 16;
constexpr size_t kHeaderSize = 16;
constexpr size_t kRowSize = kNameSize + 16;
constexpr uint32_t kMostSections = 1024;

void put_number(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

uint64_t take_number(std::string_view& in, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i) {
    value = value << 8 | static_cast<unsigned char>(in[static_cast<size_t>(i)]);
  }
  in.remove_prefix(static_cast<size_t>(bytes));
  return value;
}

std::string header_of(const std::vector<SectionView>& sections) {
  std::string out(kMagic);
  put_number(out, sections.size(), 4);
  put_number(out, crc32c(out), 4);
  for (const SectionView& section : sections) {
    CHECK(section.name.size() <= kNameSize);
    std::string row = section.name;
    row.resize(kNameSize, '\0');
    put_number(row, section.bytes.size(), 8);
    put_number(row, crc32c(section.bytes), 4);
    put_number(row, crc32c(row), 4);
    out += row;
  }
  return out;
}

Done write_whole(int fd, std::string_view bytes, const std::string& path) {
  return write_all(fd, bytes) ? done() : Done(errno_error("write " + path, errno));
}

Done write_durably(int fd, const std::string& path, const std::vector<SectionView>& sections) {
  TRY(write_whole(fd, header_of(sections), path));
  for (const SectionView& section : sections) TRY(write_whole(fd, section.bytes, path));
  if (fsync(fd) != 0) return errno_error("fsync " + path, errno);
  return done();
}

/// Makes a rename in `path`'s folder durable.
Done sync_folder(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno_error("open " + folder, errno);
  const int rc = fsync(fd);
  const int error = errno;
  close(fd);
  if (rc != 0) return errno_error("fsync " + folder, error);
  return done();
}

struct Row {
  std::string name;
  uint64_t length = 0;
  uint32_t crc = 0;
};

Error damaged(const std::string& path, const std::string& what) {
  return data_loss(path + ": " + what);
}

Result<std::vector<Row>> read_header(const std::string& path, std::string_view& rest) {
  if (rest.size() < kHeaderSize) return damaged(path, "cut off within its header");
  const std::string_view head = rest.substr(0, kHeaderSize - 4);
  if (!head.starts_with(kMagic)) return damaged(path, "not a section file");
  rest.remove_prefix(kMagic.size());
  const uint64_t count = take_number(rest, 4);
  if (take_number(rest, 4) != crc32c(head) || count > kMostSections) {
    return damaged(path, "its header is damaged");
  }
  std::vector<Row> rows;
  for (uint64_t i = 0; i < count; ++i) {
    if (rest.size() < kRowSize) return damaged(path, "cut off within its table");
    const std::string_view raw = rest.substr(0, kRowSize - 4);
    Row row;
    row.name = std::string(rest.substr(0, kNameSize));
    row.name.erase(row.name.find_last_not_of('\0') + 1);
    rest.remove_prefix(kNameSize);
    row.length = take_number(rest, 8);
    row.crc = static_cast<uint32_t>(take_number(rest, 4));
    if (take_number(rest, 4) != crc32c(raw)) return damaged(path, "its table is damaged");
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Done write_section_file(const std::string& path, const std::vector<SectionView>& sections) {
  const std::string unfinished = path + std::string(kUnfinishedSuffix);
  const int fd = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return errno_error("open " + unfinished, errno);
  Done outcome = write_durably(fd, unfinished, sections);
  if (close(fd) != 0 && outcome.ok()) outcome = errno_error("close " + unfinished, errno);
  if (outcome.ok() && rename(unfinished.c_str(), path.c_str()) != 0) {
    outcome = errno_error("rename " + unfinished + " to " + path, errno);
  }
  if (!outcome.ok()) {
    unlink(unfinished.c_str());
    return outcome;
  }
  return sync_folder(path);
}

Result<Sections> read_section_file(const std::string& path) {
  const std::string bytes = TRY(read_text(path));
  std::string_view rest = bytes;
  const std::vector<Row> rows = TRY(read_header(path, rest));
  Sections sections;
  for (const Row& row : rows) {
    if (row.length > rest.size()) return damaged(path, "cut off within section " + row.name);
    const std::string_view body = rest.substr(0, row.length);
    if (crc32c(body) != row.crc) return damaged(path, "section " + row.name + " is damaged");
    sections.emplace(row.name, body);
    rest.remove_prefix(row.length);
  }
  if (!rest.empty()) return damaged(path, "has bytes after its last section");
  return sections;
}

}  // namespace keiko::train
