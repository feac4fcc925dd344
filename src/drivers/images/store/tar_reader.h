// Reads a tar archive entry by entry: ustar, and what pax and GNU added for long names and large
// files. An archive is the work of a stranger, so nothing in it is believed. For one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "drivers/images/store/byte_source.h"

namespace keiko::images {

enum class TarKind { kFile, kHardLink, kSymlink, kFolder, kFifo, kDevice };

struct TarEntry {
  TarKind kind = TarKind::kFile;
  std::string name;        ///< as it is written there
  std::string target;      ///< of a link
  int64_t mode = 0;
  int64_t user = 0;
  int64_t group = 0;
  int64_t size = 0;        ///< of a file
  int64_t mtime = 0;       ///< seconds
  int64_t data_at = 0;     ///< offset of its bytes in the archive
};

class TarReader {
 public:
  explicit TarReader(ByteSource& source) : source_(source) {}

  /// RETURNS: the next entry, past what is unread of the last one; nothing at the archive's end.
  /// kDataLoss if it is cut short or no archive.
  Result<std::optional<TarEntry>> next();

  /// Bytes of the entry that next() gave. RETURNS: 0 at their end.
  Result<size_t> read(char* buffer, size_t size);

 private:
  struct Extension;
  Result<bool> read_block(char* block);
  Result<std::string> read_text(int64_t size);
  Done skip_rest();

  ByteSource& source_;
  int64_t at_ = 0;         ///< how much of the archive was read
  int64_t left_ = 0;       ///< of the entry's bytes
  int64_t padding_ = 0;    ///< behind them
};

}  // namespace keiko::images
