#include "drivers/files/tree/pack.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <vector>

#include "drivers/files/tree/record.h"
#include "posix/fd.h"

namespace keiko::tree {
namespace {

constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

Entry entry_of(const std::string& name, const struct stat& seen) {
  Entry entry;
  entry.name = name;
  entry.mode = static_cast<int32_t>(seen.st_mode & 01777);
  entry.mtime_ns = int64_t{seen.st_mtim.tv_sec} * 1'000'000'000 + seen.st_mtim.tv_nsec;
  entry.size = S_ISREG(seen.st_mode) ? int64_t{seen.st_size} : 0;
  return entry;
}

/// RETURNS: the names in it, in order.
std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> open(copy < 0 ? nullptr : fdopendir(copy), closedir);
  while (const dirent* found = open ? readdir(open.get()) : nullptr) {
    if (is_plain_name(found->d_name)) names.emplace_back(found->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

int64_t bytes_below(int folder, size_t depth) {
  int64_t total = 0;
  for (const std::string& name : names_in(folder)) {
    struct stat seen{};
    if (fstatat(folder, name.c_str(), &seen, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(seen.st_mode)) total += seen.st_size;
    if (!S_ISDIR(seen.st_mode) || depth >= kMostDepth) continue;
    const Fd inner(openat(folder, name.c_str(), kReadFlags | O_DIRECTORY | O_NOFOLLOW));
    if (inner) total += bytes_below(inner.get(), depth + 1);
  }
  return total;
}

class Packer {
 public:
  Packer(const PackOrder& order, int stream) : order_(order), stream_(stream) {}

  Result<int64_t> run();

 private:
  Done put(Kind kind, const Entry& entry) { return write_record(stream_, kind, encode(entry)); }
  Done pack_file(int fd, Entry entry);
  Done pack_folder(int fd, const Entry& entry, const std::string& shown, size_t depth);
  Done pack_inner(int folder, const std::string& name, const std::string& shown, size_t depth);
  Done leave_out(const std::string& shown, const std::string& why);

  const PackOrder& order_;
  const int stream_;
  int64_t total_ = 0;
  int64_t sent_ = 0;
  int64_t left_out_ = 0;
};

Done Packer::leave_out(const std::string& shown, const std::string& why) {
  ++left_out_;
  if (order_.left_out) order_.left_out(shown + " is left out: " + why);
  return done();
}

/// A file that grows meanwhile is as it was at first, one that shrinks as it is.
Done Packer::pack_file(int fd, Entry entry) {
  TRY(put(Kind::kFile, entry));
  std::string buffer(kMostRecordBytes, '\0');
  while (entry.size > 0) {
    const auto most = std::min<size_t>(buffer.size(), static_cast<size_t>(entry.size));
    const ssize_t got = read(fd, buffer.data(), most);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("read " + entry.name, errno);
    if (got == 0) break;
    TRY(write_record(stream_, Kind::kData, {buffer.data(), static_cast<size_t>(got)}));
    entry.size -= got;
    sent_ += got;
    if (order_.progress) order_.progress(sent_, total_);
  }
  return write_record(stream_, Kind::kDone, {});
}

Done Packer::pack_folder(int fd, const Entry& entry, const std::string& shown, size_t depth) {
  if (depth > kMostDepth) {
    return leave_out(shown, "it lies deeper than " + std::to_string(kMostDepth) + " folders");
  }
  TRY(put(Kind::kFolder, entry));
  for (const std::string& name : names_in(fd)) {
    TRY(pack_inner(fd, name, shown + "/" + name, depth));
  }
  return write_record(stream_, Kind::kLeave, {});
}

Done Packer::pack_inner(int folder, const std::string& name, const std::string& shown,
                        size_t depth) {
  struct stat seen{};
  if (fstatat(folder, name.c_str(), &seen, AT_SYMLINK_NOFOLLOW) != 0) return done();  // gone
  Entry entry = entry_of(name, seen);
  if (S_ISLNK(seen.st_mode)) {
    char target[PATH_MAX];
    const ssize_t size = readlinkat(folder, name.c_str(), target, sizeof target);
    if (size < 0) return leave_out(shown, errno_error("readlink", errno).message);
    entry.target.assign(target, static_cast<size_t>(size));
    return put(Kind::kLink, entry);
  }
  if (!S_ISREG(seen.st_mode) && !S_ISDIR(seen.st_mode)) {
    return leave_out(shown, "it is neither a file nor a folder nor a symbolic link");
  }
  const Fd fd(openat(folder, name.c_str(), kReadFlags | O_NOFOLLOW));
  if (!fd || fstat(fd.get(), &seen) != 0)
    return leave_out(shown, errno_error("open", errno).message);
  entry = entry_of(name, seen);
  if (S_ISDIR(seen.st_mode)) return pack_folder(fd.get(), entry, shown, depth + 1);
  if (S_ISREG(seen.st_mode)) return pack_file(fd.get(), entry);
  return leave_out(shown, "it is no file any more");
}

Result<int64_t> Packer::run() {
  const Fd fd(open(order_.path.c_str(), kReadFlags));
  struct stat seen{};
  if (!fd || fstat(fd.get(), &seen) != 0) {
    return Error{errno == ENOENT ? Code::kNotFound : Code::kFailedPrecondition,
                 errno_error("cannot read " + order_.path, errno).message, {}};
  }
  const bool folder = S_ISDIR(seen.st_mode);
  if (folder && !order_.recursive) {
    return failed_precondition(order_.path + " is a folder; copy it with -r");
  }
  if (!folder && !S_ISREG(seen.st_mode)) {
    return failed_precondition(order_.path + " is neither a file nor a folder");
  }
  total_ = folder ? bytes_below(fd.get(), 0) : int64_t{seen.st_size};
  Entry begin;
  begin.name = last_name(order_.path);
  begin.size = total_;
  TRY(put(Kind::kBegin, begin));
  const Entry entry = entry_of("-", seen);  // the receiver names it
  if (folder) TRY(pack_folder(fd.get(), entry, order_.path, 0));
  else TRY(pack_file(fd.get(), entry));
  Entry end;
  end.size = left_out_;
  TRY(put(Kind::kEnd, end));
  return left_out_;
}

}  // namespace

Result<int64_t> pack(const PackOrder& order, int stream) {
  Result<int64_t> packed = Packer(order, stream).run();
  if (!packed.ok()) {
    const Kind kind = packed.error().code == Code::kNotFound ? Kind::kMissing : Kind::kFailed;
    [[maybe_unused]] const Done told =
        write_record(stream, kind, std::string_view(packed.error().message).substr(0, 4096));
  }
  return packed;
}

}  // namespace keiko::tree
