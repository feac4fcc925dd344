// Makes files from a stream (record.h). Nothing outside the destination is touched whatever the
// stream says: names are single components, and symbolic links are never followed. A file has its
// name only once it is whole; what breaks before leaves nothing of it. For one thread.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace keiko::tree {

struct UnpackOrder {
  std::string path;  ///< what comes gets this name; within it, as `name`, if it is a folder
  /// One component; "." to go into the folder itself; empty: as the sender calls it.
  std::string name;
  /// Bytes that have come, and of how many; may be empty.
  std::function<void(int64_t done, int64_t total)> progress = {};
};

/// Files that are there are replaced, folders are added to. Permission bits (not set-uid, set-gid)
/// and times of change are kept.
/// RETURNS: the number of entries that the sender left out.
Result<int64_t> unpack(const UnpackOrder& order, int stream);

}  // namespace keiko::tree
