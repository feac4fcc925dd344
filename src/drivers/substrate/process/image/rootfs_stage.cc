#include "drivers/substrate/process/image/rootfs_stage.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "drivers/files/tree/in_root.h"
#include "drivers/substrate/process/image/user_map.h"

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

/// Makes what was copied read-only, if it is to be, and without devices and set-uid programs.
Done seal(const Fd& copy, const Mount& mount) {
  mount_attr wanted{};
  wanted.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  if (mount.read_only) wanted.attr_set |= MOUNT_ATTR_RDONLY;
  if (mount_setattr(copy.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &wanted, sizeof wanted) == 0) {
    return done();
  }
  return unavailable("cannot seal " + mount.source + ": " + std::strerror(errno));
}

bool put(const Fd& copy, const Fd& place) {
  return move_mount(copy.get(), "", place.get(), "",
                    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
}

Error no_stage(const std::string& what) {
  return unavailable("this node cannot make containers: " + what + ": " + std::strerror(errno));
}

}  // namespace

Fd open_in_root(const Fd& root, const std::string& path) {
  return Fd(tree::open_in_root(root.get(), path));
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
    return no_stage("no file system in memory at " + folder_);
  }
  for (const char* const name : {"/image", "/rootfs", "/upper", "/work", "/state"}) {
    if (mkdir((folder_ + name).c_str(), 0755) != 0) return no_stage("mkdir " + folder_ + name);
  }
  const Fd place(open((folder_ + "/image").c_str(), O_PATH | O_CLOEXEC));
  const Fd plain = TRY(copy_mounts(image));
  const Fd mapped = TRY(copy_mounts(image));
  const bool maps = lay_user_map(mapped, map_);
  if (!put(maps ? mapped : plain, place)) return no_stage("the image cannot be mounted");
  Done laid = lay_overlay();
  if (!laid.ok() && maps) {
    // Kernels before 5.19 lay nothing over a mount with a map.
    if (umount2((folder_ + "/image").c_str(), MNT_DETACH) != 0 || !put(plain, place)) {
      return no_stage("the image cannot be mounted");
    }
    laid = lay_overlay();
  }
  TRY(std::move(laid));
  root_ = Fd(open((folder_ + "/rootfs").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root_) return no_stage("cannot open the root");
  return done();
}

Done RootfsStage::lay_overlay() {
  const std::string options = "lowerdir=" + folder_ + "/image,upperdir=" + folder_ +
                              "/upper,workdir=" + folder_ + "/work";
  if (mount("overlay", (folder_ + "/rootfs").c_str(), "overlay", MS_NOSUID | MS_NODEV,
            options.c_str()) == 0) {
    return done();
  }
  return no_stage("no layer can be laid over the image");
}

Result<RootfsStage::Source> RootfsStage::take_source(const StagePlace& place) {
  const std::string& path = place.mount.source;
  const Fd found(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!found) {
    return failed_precondition("cannot mount " + path + " at " + place.mount.target + ": " +
                               std::strerror(errno) + "; it must be on this node");
  }
  Source source{TRY(copy_mounts(found)), is_folder(found)};
  if (place.map_users && !lay_user_map(source.copy, map_) && !place.mount.read_only) {
    notes_.push_back("the file system of " + path + " cannot map users: in " +
                     place.mount.target + " the worker writes as user " +
                     std::to_string(kImageUsersFirst));
  }
  TRY(seal(source.copy, place.mount));
  return source;
}

Done RootfsStage::mount_inside(const Source& source, const std::string& target) {
  const Fd place = TRY(make_place_in_root(root_, target, source.folder));
  if (put(source.copy, place)) return done();
  return no_stage("cannot mount at " + target);
}

std::string library_link(const std::string& path) {
  const size_t version = path.rfind(".so.");
  if (version == std::string::npos || path.find('/', version) != std::string::npos) return {};
  return path.substr(0, version) + ".so.1";
}

Done RootfsStage::link_libraries(const std::vector<Mount>& mounts) const {
  for (const Mount& mount : mounts) {
    const std::string link = library_link(mount.target);
    if (link.empty() || open_in_root(root_, link)) continue;
    const size_t slash = link.rfind('/');
    const Fd folder = open_in_root(root_, slash == 0 ? "/" : link.substr(0, slash));
    const std::string library = mount.target.substr(slash + 1);
    if (folder && symlinkat(library.c_str(), folder.get(), link.c_str() + slash + 1) == 0) continue;
    if (errno != EEXIST) return errno_error("cannot link " + link + " in the image", errno);
  }
  return done();
}

Result<RootfsStage> RootfsStage::set_up(const std::string& image,
                                        const std::vector<StagePlace>& places) {
  RootfsStage stage;
  stage.folder_ = find_stage();
  if (stage.folder_.empty()) return unavailable("there is no /mnt to make containers in");
  if (unshare(CLONE_NEWNS) != 0) return no_stage("no mount namespace");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return no_stage("mounts cannot be made private");
  }
  stage.map_ = TRY(make_user_map());
  // All sources first: the stage may hide some of them.
  const Fd lower(open(image.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!lower) {
    return failed_precondition("cannot open the image " + image + ": " + std::strerror(errno));
  }
  std::vector<Source> sources;
  for (const StagePlace& place : places) sources.push_back(TRY(stage.take_source(place)));
  TRY(stage.mount_overlay(lower));
  for (const char* const name : {"/proc", "/dev"}) {
    TRY(make_place_in_root(stage.root_, name, true));
  }
  const Fd temporary = TRY(make_place_in_root(stage.root_, "/tmp", true));
  if (mount("tmpfs", path_of(temporary).c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) {
    return no_stage("cannot mount /tmp in the image");
  }
  for (size_t i = 0; i < places.size(); ++i) {
    TRY(stage.mount_inside(sources[i], places[i].mount.target));
  }
  return stage;
}

}  // namespace keiko::process
