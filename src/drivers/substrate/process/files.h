// Small file tools of the process substrate: whole files in, whole files out. Free of heavy
// includes, since the shim must start fast. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/fields.h"
#include "base/result.h"
#include "posix/fd.h"

namespace keiko::process {

using keiko::Fd;
using keiko::write_all;

/// RETURNS: the file's content; an Error naming the path. Works on /proc too.
Result<std::string> read_file(const std::string& path);

/// RETURNS: the last `count` bytes of a file, fewer if it is shorter, none if it cannot be read.
std::string read_tail(const std::string& path, int64_t count);

/// Writes to an existing kernel file, or makes the file. RETURNS: false with errno set.
bool write_control(const std::string& path, std::string_view text);

/// Puts a file in place whole or not at all for whoever reads it: temporary file, then rename.
/// `durable` syncs it afterwards, so that nobody waits for the disk to see it; a machine that loses
/// its power in between leaves a damaged file, which a record's checksum tells.
Done write_atomically(const std::string& path, std::string_view bytes, bool durable);

/// Takes the space for a later write_atomically() of up to `count` bytes, so that it succeeds on a
/// disk that is full by then. Best effort: a copy-on-write file system may not keep it.
void set_aside(const std::string& path, int64_t count);

/// mkdir -p with mode 0755. RETURNS: an Error naming the path.
Done make_folders(const std::string& path);

bool exists(const std::string& path);

/// The lock of a worker's folder: whoever holds it decides the worker's fate. The agent takes it,
/// and the shim inherits it, so that it is held without a gap from before the shim is started until
/// the shim is gone.
class FolderLock {
 public:
  /// Tries to take it. `inherited` is a descriptor that may hold it already; -1: none does.
  explicit FolderLock(const std::string& folder, int inherited = -1);
  bool is_mine() const { return is_mine_; }
  int fd() const { return fd_.get(); }
  /// What the holder wrote into it: its encoded ProcessIdentity, empty in its first instants.
  std::string content() const;
  /// REQUIRES: is_mine().
  bool write(std::string_view content);

 private:
  Fd fd_;
  bool is_mine_ = false;
};

/// A record in a file of its own: its encoding behind a checksum.
template <class T>
Done write_record(const std::string& path, const T& record, bool durable) {
  const std::string body = encode(record);
  std::string bytes;
  put_varint(bytes, crc32c(body));
  return write_atomically(path, bytes + body, durable);
}

template <class T>
Result<T> read_record(const std::string& path) {
  const std::string bytes = TRY(read_file(path));
  std::string_view rest = bytes;
  uint64_t checksum = 0;
  if (!take_varint(rest, checksum) || checksum != crc32c(rest)) {
    return data_loss(path + " is damaged: its checksum does not match");
  }
  return decode<T>(rest);
}

}  // namespace keiko::process
