#include "drivers/substrate/process/image/rootfs_stage.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace keiko::process {
namespace {

std::string path_of(const Fd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

bool is_folder(const Fd& fd) {
  struct stat found{};
  return fstat(fd.get(), &found) == 0 && S_ISDIR(found.st_mode);
}

/// Folders of every Debian whose place may be taken in a namespace of our own. Everybody may pass
/// through them, which a state folder below a private one does not promise.
std::string find_stage() {
  for (const char* const path : {"/mnt", "/media", "/srv", "/opt"}) {
    struct stat found{};
    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode)) return path;
  }
  return {};
}

/// Makes what is mounted at `target`, and below it, read-only and without devices.
Done seal(const Fd& target, const std::string& name, uint64_t attributes) {
  mount_attr wanted{};
  wanted.attr_set = attributes;
  // The descriptor was opened before the mount and means what lies below it; the path means both.
  if (mount_setattr(AT_FDCWD, path_of(target).c_str(), AT_RECURSIVE, &wanted, sizeof wanted) == 0) {
    return done();
  }
  return errno_error("cannot seal the mount at " + name, errno);
}

}  // namespace

Fd open_in_root(const Fd& root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<uint64_t>(O_PATH | O_CLOEXEC | flags);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return Fd(static_cast<int>(
      syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
}

Result<Fd> make_place_in_root(const Fd& root, const std::string& path, bool folder) {
  if (Fd there = open_in_root(root, path)) {
    if (is_folder(there) == folder) return there;
    return failed_precondition("in the image, " + path + " is " + (folder ? "no" : "a") +
                               " folder");
  }
  const size_t slash = path.rfind('/');
  const std::string name = path.substr(slash + 1);
  if (slash == std::string::npos || name.empty()) {
    return errno_error("cannot find " + path + " in the image", errno);
  }
  const Fd parent = slash == 0 ? open_in_root(root, "/")
                               : TRY(make_place_in_root(root, path.substr(0, slash), true));
  const bool made = folder ? mkdirat(parent.get(), name.c_str(), 0755) == 0
                           : mknodat(parent.get(), name.c_str(), S_IFREG | 0644, 0) == 0;
  if (!made) return errno_error("cannot make " + path + " in the image's layer in memory", errno);
  Fd fresh = open_in_root(root, path);
  if (!fresh) return errno_error("cannot open " + path + " in the image", errno);
  return fresh;
}

bool RootfsStage::has_folder(const std::string& path) const {
  const Fd found = open_in_root(root_, path);
  return found && is_folder(found);
}

Done RootfsStage::mount_overlay(const Fd& image) {
  if (mount("tmpfs", folder_.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=16m") != 0) {
    return errno_error("cannot mount a file system in memory", errno);
  }
  for (const char* const name : {"/rootfs", "/upper", "/work", "/state"}) {
    if (mkdir((folder_ + name).c_str(), 0755) != 0) {
      return errno_error("cannot make " + folder_ + name, errno);
    }
  }
  const std::string options = "lowerdir=" + path_of(image) + ",upperdir=" + folder_ +
                              "/upper,workdir=" + folder_ + "/work";
  const std::string rootfs = folder_ + "/rootfs";
  if (mount("overlay", rootfs.c_str(), "overlay", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    return errno_error("cannot lay a layer over the image", errno);
  }
  root_ = Fd(open(rootfs.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root_) return errno_error("cannot open " + rootfs, errno);
  return done();
}

Done RootfsStage::mount_inside(const Fd& source, const Mount& place) {
  const Fd target = TRY(make_place_in_root(root_, place.target, is_folder(source)));
  if (mount(path_of(source).c_str(), path_of(target).c_str(), nullptr, MS_BIND | MS_REC,
            nullptr) != 0) {
    return errno_error("cannot mount " + place.source + " at " + place.target, errno);
  }
  const Fd mounted = open_in_root(root_, place.target);
  if (!mounted) return errno_error("cannot open what was mounted at " + place.target, errno);
  const uint64_t read_only = place.read_only ? MOUNT_ATTR_RDONLY : 0;
  return seal(mounted, place.target, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | read_only);
}

Result<RootfsStage> RootfsStage::set_up(const std::string& image,
                                        const std::vector<Mount>& mounts) {
  RootfsStage stage;
  stage.folder_ = find_stage();
  if (stage.folder_.empty()) return failed_precondition("there is no /mnt to make the stage in");
  if (unshare(CLONE_NEWNS) != 0) return errno_error("cannot leave the mount namespace", errno);
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return errno_error("cannot make mounts private", errno);
  }
  // All sources first: the stage may hide some of them.
  const Fd lower(open(image.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!lower) return errno_error("cannot open the image " + image, errno);
  std::vector<Fd> sources;
  for (const Mount& place : mounts) {
    sources.emplace_back(open(place.source.c_str(), O_PATH | O_CLOEXEC));
    if (!sources.back()) {
      return errno_error("cannot mount " + place.source + ", which must be on this node", errno);
    }
  }
  TRY(stage.mount_overlay(lower));
  for (const char* const name : {"/proc", "/dev"}) {
    TRY(make_place_in_root(stage.root_, name, true));
  }
  const Fd temporary = TRY(make_place_in_root(stage.root_, "/tmp", true));
  if (mount("tmpfs", path_of(temporary).c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) {
    return errno_error("cannot mount /tmp in the image", errno);
  }
  for (size_t i = 0; i < mounts.size(); ++i) {
    TRY(stage.mount_inside(sources[i], mounts[i]));
  }
  return stage;
}

}  // namespace keiko::process
