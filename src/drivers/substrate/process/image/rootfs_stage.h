// The root file system of one worker as the runtime finds it: the image below an empty layer in
// memory that holds the mount points, and what the job mounts. In a mount namespace of its own, so
// that the machine sees none of it and nothing is left when the worker has ended.
//
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

class RootfsStage {
 public:
  /// Leaves the machine's mount namespace and sets the stage up. `image` is a folder; `mounts`
  /// come on top of it in their order, each source looked up on the machine.
  /// RETURNS: an Error that says which folder is missing and where.
  static Result<RootfsStage> set_up(const std::string& image, const std::vector<Mount>& mounts);

  const std::string& folder() const { return folder_; }

  /// RETURNS: whether the path is a folder inside.
  bool has_folder(const std::string& path) const;

 private:
  Done mount_overlay(const Fd& image);
  Done mount_inside(const Fd& source, const Mount& mount);

  std::string folder_;
  Fd root_;
};

/// Opens `path` as if `root` were the root of everything. RETURNS: an O_PATH descriptor; -1 with
/// errno set.
Fd open_in_root(const Fd& root, const std::string& path, int flags = 0);

/// Makes an empty folder, or an empty file, at `path` within `root` if there is nothing, and its
/// parents. RETURNS: an O_PATH descriptor of it.
Result<Fd> make_place_in_root(const Fd& root, const std::string& path, bool folder);

}  // namespace keiko::process
