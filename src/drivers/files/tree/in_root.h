// Paths within a folder that somebody else filled: every step, symbolic links included, is resolved
// as if the folder were the root of everything, so that none leads out. Thread-safe.
#pragma once

#include <string>

namespace keiko::tree {

/// Opens `path` within the folder `root`. RETURNS: an O_PATH descriptor; -1 with errno set.
int open_in_root(int root, const std::string& path, int flags = 0);

}  // namespace keiko::tree
