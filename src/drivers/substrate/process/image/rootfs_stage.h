// The root file system of one worker as the runtime finds it: the image below an empty layer in
// memory that holds the mount points, and what the job mounts. In a mount namespace of its own, so
// that the machine sees none of it and nothing is left when the worker has ended.
//
//   <stage>/image       the image, its users mapped (user_map.h)
//   <stage>/rootfs      overlay: image (never written) + mount points
//   <stage>/config.json for runc
//   <stage>/state       runc's own notes
//
// An image is the work of a stranger: every step of a path in it is resolved within it, so that a
// symlink in it cannot lead a mount of ours to the machine's own files. For the helper between shim
// and runtime, which is single-threaded.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "drivers/substrate/process/files.h"
#include "model/mount.h"

namespace keiko::process {

/// What comes on top of an image.
struct StagePlace {
  Mount mount;
  /// The image's root is its files' owner; else it is nobody to them, as it is outside.
  bool map_users = true;
};

class RootfsStage {
 public:
  /// Leaves the machine's mount namespace and sets the stage up. `image` is a folder; `places`
  /// come on top of it in their order, each source looked up on the machine.
  /// RETURNS: kUnavailable if this machine cannot; else an Error that says which folder is missing
  /// and where.
  static Result<RootfsStage> set_up(const std::string& image,
                                    const std::vector<StagePlace>& places);

  /// Lets the dynamic linker find the libraries among `mounts` by the names that programs use:
  /// "libcuda.so.1" beside "libcuda.so.550.54". REQUIRES: they are mounted.
  Done link_libraries(const std::vector<Mount>& mounts) const;

  const std::string& folder() const { return folder_; }
  /// What was asked for and does not hold, a sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

  /// RETURNS: whether the path is a folder inside.
  bool has_folder(const std::string& path) const;

 private:
  struct Source {
    Fd copy;              ///< of its mounts
    bool folder = false;
  };
  Result<Source> take_source(const StagePlace& place);
  Done mount_overlay(const Fd& image);
  Done lay_overlay();
  Done mount_inside(const Source& source, const std::string& target);

  std::string folder_;
  Fd root_;
  Fd map_;                ///< of users (user_map.h)
  std::vector<std::string> notes_;
};

/// RETURNS: "/lib/libcuda.so.1" for "/lib/libcuda.so.550.54"; empty if it is no such library.
std::string library_link(const std::string& path);

/// Opens `path` as if `root` were the root of everything. RETURNS: an O_PATH descriptor; -1 with
/// errno set.
Fd open_in_root(const Fd& root, const std::string& path);

/// Makes an empty folder, or an empty file, at `path` within `root` if there is nothing, and its
/// parents. RETURNS: an O_PATH descriptor of it.
Result<Fd> make_place_in_root(const Fd& root, const std::string& path, bool folder);

}  // namespace keiko::process
