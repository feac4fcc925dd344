// The users of an image, and how the machine's file systems know them: a user namespace as a map
// that a mount can carry. Through such a mount whoever is root inside reads and writes as the
// file's root, and is nobody everywhere else. For one thread.
#pragma once

#include <string>

#include "base/result.h"
#include "drivers/substrate/process/files.h"

namespace keiko::process {

/// Users 0 to kImageUsers of images are these on the machine: far above those of people and of
/// `subuid` ranges, and above what systemd-nspawn takes.
constexpr int64_t kImageUsersFirst = 2'000'000'000;
constexpr int64_t kImageUsers = 65'536;

/// RETURNS: a descriptor of a user namespace with that map.
Result<Fd> make_user_map();

/// A copy of what is mounted at `source` and below, mounted nowhere yet. RETURNS: its descriptor.
Result<Fd> copy_mounts(const Fd& source);

/// Lays the map on a copy. RETURNS: false if its file systems know no maps; the copy is as before.
bool lay_user_map(const Fd& copy, const Fd& map);

}  // namespace keiko::process
