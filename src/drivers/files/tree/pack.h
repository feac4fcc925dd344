// Packs a file or a folder into a stream (record.h). Symbolic links inside a folder go as links; a
// link that was named itself is followed. For one thread.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace keiko::tree {

struct PackOrder {
  std::string path;
  bool recursive = false;  ///< folders as well
  /// Bytes that have gone out, and of how many; may be empty.
  std::function<void(int64_t done, int64_t total)> progress = {};
  /// A sentence for each entry that cannot be copied; may be empty.
  std::function<void(const std::string&)> left_out = {};
};

/// RETURNS: the number of entries that were left out (devices, sockets, what may not be read); an
/// Error if it could not go on, and then the stream tells it too.
Result<int64_t> pack(const PackOrder& order, int stream);

}  // namespace keiko::tree
