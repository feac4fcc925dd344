// The stream in which files travel (keiko cp): records, each a kind byte, a length (4 bytes, little
// endian) and so many bytes. An entry's name is one component, never a path: the receiver goes into
// folders and out of them as the records say, so a name cannot lead anywhere else.
//
//   begin  { entry }  end       entry: file data* done | link | folder entry* leave
//
// Both ends may be of different versions: tags and kinds keep their meaning for ever.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/result.h"

namespace keiko::tree {

enum class Kind : uint8_t {
  kBegin = 'N',    ///< Entry: what the sender calls it, and the size of all that follows
  kFile = 'F',     ///< Entry
  kData = 'B',     ///< bytes of the file before it
  kDone = 'Z',     ///< the file is whole
  kLink = 'L',     ///< Entry with target
  kFolder = 'D',   ///< Entry
  kLeave = 'U',    ///< back to the folder's parent
  kEnd = 'E',      ///< Entry: size is the number of entries that were left out
  kFailed = 'X',   ///< a sentence: the sender cannot go on
  kMissing = 'M',  ///< a sentence: what was to be sent is not there
};

/// What a program that only copies ends with: its sentence alone does not say of what kind it is.
inline constexpr int kFailedExit = 1;
inline constexpr int kMissingExit = 3;

/// At most in one record.
inline constexpr size_t kMostRecordBytes = 64 * 1024;
/// Deeper trees are refused at both ends: each level takes a descriptor.
inline constexpr size_t kMostDepth = 200;

struct Entry {
  std::string name;
  int32_t mode = 0;         ///< permission bits
  int64_t mtime_ns = 0;     ///< since 1970
  int64_t size = 0;
  std::string target;       ///< of a symbolic link, as it stands

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "name", s.name);
    v(2, "mode", s.mode);
    v(3, "mtime_ns", s.mtime_ns);
    v(4, "size", s.size);
    v(5, "target", s.target);
  }
};

/// Puts a record on a descriptor that blocks. RETURNS: kUnavailable if nobody reads it.
Done write_record(int fd, Kind kind, std::string_view bytes);

/// Takes the next one, its bytes into `bytes`. RETURNS: kUnavailable if the stream breaks off,
/// kDataLoss if it is no such stream.
Result<Kind> read_record(int fd, std::string& bytes);

/// RETURNS: whether it is one name within a folder.
bool is_plain_name(std::string_view name);

/// RETURNS: the last component of a path; "." for one that has none ("/", "..", "").
std::string last_name(std::string path);

}  // namespace keiko::tree
