// Where images become root file systems: a folder is one already, an archive is unpacked once into
// the store and used by all workers that name the same content.
//
//   <store>/<key>/rootfs       whole, or not there
//   <store>/<key>.lock         held shared by every user, exclusively by who makes or removes it
//   <store>/<key>.part         under way; nobody's if the lock is free
//
// An image that nobody has used for a week goes when the next one is unpacked. For one thread; any
// number of processes.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "posix/fd.h"

namespace keiko::images {

struct PreparedImage {
  std::string rootfs;                        ///< a folder, which is not to be written to
  std::map<std::string, std::string> env;    ///< what the image says of its environment
  Fd lock;                        ///< the store keeps it while this is open
};

/// `path`: an image; `store`: a folder that is made if it is not there.
/// RETURNS: an Error that names the image and what is wrong with it; kResourceExhausted if there is
/// no room here.
Result<PreparedImage> prepare_image(const std::string& path, const std::string& store);

}  // namespace keiko::images
