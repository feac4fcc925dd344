#include "drivers/images/store/layer.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/text.h"
#include "drivers/files/tree/in_root.h"

namespace keiko::images {
namespace {

constexpr std::string_view kMark = ".wh.";
constexpr const char* kMarkAll = ".wh..wh..opq";
constexpr size_t kChunk = 256 * 1024;

std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

/// "./usr//bin/" is "usr/bin". RETURNS: an Error for a name that leads upwards.
Result<std::string> plain_name(const std::string& name) {
  std::vector<std::string> steps;
  for (std::string& step : split(name, '/')) {
    if (step.empty() || step == ".") continue;
    if (step == "..") {
      return failed_precondition("its entry " + quote_text(name) + " leads out of the image");
    }
    steps.push_back(std::move(step));
  }
  return join(steps, "/");
}

Error wrong(const std::string& name) {
  if (errno == ENOSPC || errno == EDQUOT) {
    return resource_exhausted("there is no room to unpack it");
  }
  return failed_precondition("its entry " + quote_text(name) + " cannot be laid down: " +
                             std::strerror(errno));
}

}  // namespace

Layer::Layer(int root) : root_(root), owns_(geteuid() == 0) {}

Done Layer::lay(TarReader& archive) {
  while (const std::optional<TarEntry> entry = TRY(archive.next())) {
    TRY(lay_entry(*entry, archive));
  }
  return done();
}

Done Layer::lay_entry(const TarEntry& entry, TarReader& archive) {
  const std::string path = TRY(plain_name(entry.name));
  if (path.empty() || entry.kind == TarKind::kDevice) return done();  // containers get their own
  TRY(enter_parent(path));
  if (name_.starts_with(kMark)) return take_away(name_);
  laid_.insert(path);
  if (entry.kind == TarKind::kFolder) return lay_folder(entry);
  if (!remove_entry(name_)) return wrong(entry.name);
  if (entry.kind == TarKind::kFile) return lay_file(entry, archive);
  if (entry.kind != TarKind::kFifo) return lay_link(entry);
  if (mkfifoat(parent_.get(), name_.c_str(), 0600) != 0) return wrong(entry.name);
  dress(entry);
  return done();
}

/// Folders that an archive forgot to name are made.
Done Layer::enter_parent(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash);
  name_ = path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (parent_ && folder == parent_path_) return done();
  std::string so_far;
  for (const std::string& step : split(folder, '/')) {
    const Fd above(
        tree::open_in_root(root_, so_far.empty() ? "/" : so_far, O_DIRECTORY));
    if (step.empty()) break;
    if (above) mkdirat(above.get(), step.c_str(), 0755);
    so_far += "/" + step;
  }
  parent_ = Fd(
      tree::open_in_root(root_, so_far.empty() ? "/" : so_far, O_DIRECTORY));
  if (!parent_) return wrong(path);
  parent_path_ = folder;
  return done();
}

/// Nothing is followed on the way: what a link points at stays.
bool Layer::remove_entry(const std::string& name) {
  if (unlinkat(parent_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR && errno != EPERM) return false;
  std::error_code failed;
  std::filesystem::remove_all(path_of(parent_.get()) + "/" + name, failed);
  errno = failed.value();
  return !failed;
}

Done Layer::take_away(const std::string& mark) {
  if (mark == kMarkAll) return empty_parent();
  const std::string name = mark.substr(kMark.size());
  if (name.empty() || name == "." || name == "..") {
    return failed_precondition("its entry " + quote_text(mark) + " takes away nothing");
  }
  return remove_entry(name) ? done() : Done(wrong(mark));
}

Done Layer::empty_parent() {
  DIR* const folder = opendir(path_of(parent_.get()).c_str());
  if (folder == nullptr) return wrong(parent_path_);
  std::vector<std::string> names;
  while (const dirent* const entry = readdir(folder)) names.emplace_back(entry->d_name);
  closedir(folder);
  for (const std::string& name : names) {
    if (name == "." || name == "..") continue;
    if (laid_.contains(parent_path_.empty() ? name : parent_path_ + "/" + name)) continue;
    if (!remove_entry(name)) return wrong(name);
  }
  return done();
}

/// Owner and bits, without those by which a program gains rights.
void Layer::dress(const TarEntry& entry) {
  const auto user = static_cast<uid_t>(entry.user);
  const auto group = static_cast<gid_t>(entry.group);
  const bool links = entry.kind == TarKind::kSymlink;
  if (owns_ && fchownat(parent_.get(), name_.c_str(), user, group, AT_SYMLINK_NOFOLLOW) != 0) {
    return;
  }
  const mode_t mode = static_cast<mode_t>(entry.mode) & 01777;
  if (!links) fchmodat(parent_.get(), name_.c_str(), mode, 0);
  if (entry.kind == TarKind::kFolder) return;  // what comes into it changes its time anyway
  const timespec times[2] = {{entry.mtime, 0}, {entry.mtime, 0}};
  utimensat(parent_.get(), name_.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

Done Layer::lay_file(const TarEntry& entry, TarReader& archive) {
  const Fd file(openat(parent_.get(), name_.c_str(),
                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return wrong(entry.name);
  std::string buffer(kChunk, '\0');
  while (const size_t got = TRY(archive.read(buffer.data(), buffer.size()))) {
    for (size_t put = 0; put < got;) {
      const ssize_t wrote = write(file.get(), buffer.data() + put, got - put);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return wrong(entry.name);
      put += static_cast<size_t>(wrote);
    }
  }
  dress(entry);
  return done();
}

Done Layer::lay_folder(const TarEntry& entry) {
  struct stat there{};
  const bool is_there =
      fstatat(parent_.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there && !S_ISDIR(there.st_mode) && !remove_entry(name_)) return wrong(entry.name);
  if (mkdirat(parent_.get(), name_.c_str(), 0755) != 0 && errno != EEXIST) {
    return wrong(entry.name);
  }
  TarEntry open_to_us = entry;
  open_to_us.mode |= 0700;
  dress(open_to_us);
  return done();
}

Done Layer::lay_link(const TarEntry& entry) {
  if (entry.kind == TarKind::kSymlink) {
    // It may point anywhere: only inside a container it is followed, or within this folder.
    if (symlinkat(entry.target.c_str(), parent_.get(), name_.c_str()) != 0) {
      return wrong(entry.name);
    }
    dress(entry);
    return done();
  }
  const std::string target = TRY(plain_name(entry.target));
  const Fd found(tree::open_in_root(root_, "/" + target, O_NOFOLLOW));
  if (!found || linkat(AT_FDCWD, path_of(found.get()).c_str(), parent_.get(), name_.c_str(),
                       AT_SYMLINK_FOLLOW) != 0) {
    return wrong(entry.name + " -> " + entry.target);
  }
  return done();
}

}  // namespace keiko::images
