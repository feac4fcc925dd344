#include "drivers/files/tree/unpack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <vector>

#include "drivers/files/tree/record.h"
#include "posix/fd.h"

namespace keiko::tree {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

/// A folder that the stream is in.
struct Level {
  Fd fd;
  std::optional<Entry> made_as;  ///< its bits and time, set when it is left
};

/// A file under way. Without a name where the file system can do that: a kill leaves nothing.
struct Part {
  Fd fd;
  Entry entry;
  std::string temporary;  ///< its name meanwhile; empty: it has none
};

class Unpacker {
 public:
  Unpacker(const UnpackOrder& order, int stream) : order_(order), stream_(stream) {}
  ~Unpacker() { drop_part(); }

  Result<int64_t> run();

 private:
  Done open_destination(const std::string& name);
  Done begin(const Entry& whole);
  Result<bool> take(Kind kind, const std::string& bytes);
  Done take_entry(Kind kind, Entry entry);
  Done begin_file(Entry entry);
  Done add_data(std::string_view bytes);
  Done check_place(const std::string& name);
  Done finish_file();
  Done make_link(const Entry& entry);
  Done enter_folder(Entry entry);
  Done leave_folder();
  void drop_part();
  std::string fresh_name();
  /// `name` below the folder that the stream is in, as whoever asked for the copy calls it.
  std::string shown(const std::string& name) const;
  Error wrong(const std::string& name, int error) const {
    return Error{error == ENOENT ? Code::kNotFound : Code::kFailedPrecondition,
                 errno_error("cannot write " + shown(name), error).message, {}};
  }
  int here() const { return levels_.back().fd.get(); }

  const UnpackOrder& order_;
  const int stream_;
  std::string base_;            ///< the path of the first folder
  std::string root_name_;       ///< of the first entry; empty: its content goes into the folder
  bool begun_ = false;          ///< the first entry has come
  std::vector<Level> levels_;
  std::unique_ptr<Part> part_;
  int64_t total_ = 0;
  int64_t come_ = 0;
  int64_t left_out_ = 0;
  int names_ = 0;
};

timespec time_of(const Entry& entry) {
  constexpr int64_t kSecond = 1'000'000'000;
  int64_t seconds = entry.mtime_ns / kSecond;
  if (entry.mtime_ns % kSecond < 0) --seconds;
  return {static_cast<time_t>(seconds), static_cast<long>(entry.mtime_ns - seconds * kSecond)};
}

mode_t mode_of(const Entry& entry) { return static_cast<mode_t>(entry.mode) & 01777; }

/// The caller's path may lead through links: it is who says where to.
Done Unpacker::open_destination(const std::string& name) {
  std::string parent = order_.path;
  while (parent.size() > 1 && parent.ends_with('/')) parent.pop_back();
  Fd folder(open(order_.path.c_str(), kFolderFlags));
  if (folder) {
    if (name != "." && !is_plain_name(name)) {
      return data_loss("the name " + quote_text(name) + " leads out of " + order_.path +
                       "; refused");
    }
    if (name != ".") root_name_ = name;
    base_ = order_.path;
  } else {
    const bool missing = errno == ENOENT;
    const bool must_be_folder = order_.path.ends_with('/');
    const size_t slash = parent.rfind('/');
    root_name_ = slash == std::string::npos ? parent : parent.substr(slash + 1);
    parent = slash == std::string::npos ? "." : slash == 0 ? "/" : parent.substr(0, slash);
    if (must_be_folder || !is_plain_name(root_name_)) {
      return Error{missing ? Code::kNotFound : Code::kFailedPrecondition,
                   order_.path + " is no folder that can be copied into", {}};
    }
    folder = Fd(open(parent.c_str(), kFolderFlags));
    if (!folder) return wrong("into " + parent, errno);
    base_ = parent;
  }
  levels_.push_back({std::move(folder), std::nullopt});
  return done();
}

std::string Unpacker::shown(const std::string& name) const {
  if (levels_.empty()) return name;
  std::string path = base_;
  const auto add = [&](const std::string& part) {
    path += (path.ends_with('/') ? "" : "/") + part;
  };
  for (const Level& level : levels_) {
    if (level.made_as) add(level.made_as->name);
  }
  add(name);
  return path;
}

std::string Unpacker::fresh_name() {
  return ".keiko-part-" + std::to_string(getpid()) + "-" + std::to_string(++names_);
}

Done Unpacker::begin_file(Entry entry) {
  auto part = std::make_unique<Part>();
  part->fd = Fd(openat(here(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (!part->fd) {
    part->temporary = fresh_name();
    part->fd = Fd(openat(here(), part->temporary.c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!part->fd) return wrong(entry.name, errno);
  }
  part->entry = std::move(entry);
  part_ = std::move(part);
  return done();
}

Done Unpacker::add_data(std::string_view bytes) {
  if (!part_) return data_loss("bytes that belong to no file");
  come_ += static_cast<int64_t>(bytes.size());
  while (!bytes.empty()) {
    const ssize_t put = write(part_->fd.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return wrong(part_->entry.name, errno);
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  if (order_.progress) order_.progress(come_, total_);
  return done();
}

/// A file takes the place of a file or a link, not of what programs talk through: a copy to
/// /dev/null as root would leave a machine without one.
Done Unpacker::check_place(const std::string& name) {
  struct stat there{};
  if (fstatat(here(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) return done();
  if (S_ISREG(there.st_mode) || S_ISLNK(there.st_mode) || S_ISDIR(there.st_mode)) return done();
  return failed_precondition("cannot write " + shown(name) +
                             ": it is there and neither file nor folder; "
                             "a device, pipe or socket is not replaced");
}

Done Unpacker::finish_file() {
  if (!part_) return data_loss("the end of no file");
  const Entry& entry = part_->entry;
  const timespec times[2] = {time_of(entry), time_of(entry)};
  if (fchmod(part_->fd.get(), mode_of(entry)) != 0 || futimens(part_->fd.get(), times) != 0) {
    return wrong(entry.name, errno);
  }
  if (part_->temporary.empty()) {
    const std::string nameless = "/proc/self/fd/" + std::to_string(part_->fd.get());
    const std::string temporary = fresh_name();
    if (linkat(AT_FDCWD, nameless.c_str(), here(), temporary.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return wrong(entry.name, errno);
    }
    part_->temporary = temporary;
  }
  if (renameat(here(), part_->temporary.c_str(), here(), entry.name.c_str()) != 0) {
    return wrong(entry.name, errno);
  }
  part_.reset();
  return done();
}

void Unpacker::drop_part() {
  if (part_ && !part_->temporary.empty()) unlinkat(here(), part_->temporary.c_str(), 0);
  part_.reset();
}

Done Unpacker::make_link(const Entry& entry) {
  const std::string temporary = fresh_name();
  if (symlinkat(entry.target.c_str(), here(), temporary.c_str()) != 0) {
    return wrong(entry.name, errno);
  }
  const timespec times[2] = {time_of(entry), time_of(entry)};
  utimensat(here(), temporary.c_str(), times, AT_SYMLINK_NOFOLLOW);
  if (renameat(here(), temporary.c_str(), here(), entry.name.c_str()) == 0) return done();
  const int error = errno;
  unlinkat(here(), temporary.c_str(), 0);
  return wrong(entry.name, error);
}

Done Unpacker::enter_folder(Entry entry) {
  if (levels_.size() > kMostDepth + 1) return data_loss("folders that lie too deep");
  if (mkdirat(here(), entry.name.c_str(), 0700) != 0 && errno != EEXIST) {
    return wrong(entry.name, errno);
  }
  Fd inner(openat(here(), entry.name.c_str(), kFolderFlags | O_NOFOLLOW));
  if (!inner) {
    const bool other = errno == ENOTDIR || errno == ELOOP;
    return other
               ? failed_precondition("cannot write into " + shown(entry.name) +
                                     ": it is there and no folder; a symbolic link is not followed")
               : wrong(entry.name, errno);
  }
  levels_.push_back({std::move(inner), std::move(entry)});
  return done();
}

Done Unpacker::leave_folder() {
  if (part_ || levels_.size() < 2) return data_loss("the end of no folder");
  const Level& level = levels_.back();
  if (level.made_as) {
    const timespec times[2] = {time_of(*level.made_as), time_of(*level.made_as)};
    // A folder that is somebody else's keeps its bits.
    [[maybe_unused]] const int set = fchmod(level.fd.get(), mode_of(*level.made_as));
    [[maybe_unused]] const int timed = futimens(level.fd.get(), times);
  }
  levels_.pop_back();
  return done();
}

Done Unpacker::take_entry(Kind kind, Entry entry) {
  if (part_ || levels_.empty()) return data_loss("an entry where none can be");
  if (!begun_) {
    begun_ = true;
    entry.name = root_name_;
    if (root_name_.empty()) {
      if (kind != Kind::kFolder) return data_loss("a file without a name");
      levels_.push_back({Fd(openat(here(), ".", kFolderFlags)), std::nullopt});
      return done();
    }
  } else if (levels_.size() < 2) {
    return data_loss("a second tree");
  }
  if (!is_plain_name(entry.name)) {
    return data_loss("the name " + quote_text(entry.name) + " leads out of its folder; refused");
  }
  if (kind != Kind::kFolder) TRY(check_place(entry.name));
  if (kind == Kind::kFile) return begin_file(std::move(entry));
  return kind == Kind::kLink ? make_link(entry) : enter_folder(std::move(entry));
}

/// RETURNS: whether it was the last.
Result<bool> Unpacker::take(Kind kind, const std::string& bytes) {
  switch (kind) {
    case Kind::kFailed: return failed_precondition(bytes);
    case Kind::kMissing: return not_found(bytes);
    case Kind::kData: TRY(add_data(bytes)); return false;
    case Kind::kDone: TRY(finish_file()); return false;
    case Kind::kLeave: TRY(leave_folder()); return false;
    case Kind::kFile:
    case Kind::kLink:
    case Kind::kFolder:
    case Kind::kBegin:
    case Kind::kEnd: break;
    default: return data_loss("what comes is no stream of files");
  }
  Entry entry = TRY(decode<Entry>(bytes));
  if (kind == Kind::kEnd) {
    if (part_ || !begun_ || levels_.size() != 1) return data_loss("the copy ends too early");
    left_out_ = entry.size;
    return true;
  }
  TRY(kind == Kind::kBegin ? begin(entry) : take_entry(kind, std::move(entry)));
  return false;
}

Done Unpacker::begin(const Entry& whole) {
  if (!levels_.empty()) return data_loss("a second beginning");
  total_ = whole.size;
  return open_destination(order_.name.empty() ? whole.name : order_.name);
}

Result<int64_t> Unpacker::run() {
  std::string bytes;
  while (true) {
    const Kind kind = TRY(read_record(stream_, bytes));
    if (TRY(take(kind, bytes))) return left_out_;
  }
}

}  // namespace

Result<int64_t> unpack(const UnpackOrder& order, int stream) {
  return Unpacker(order, stream).run();
}

}  // namespace keiko::tree
