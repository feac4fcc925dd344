// Options of the history in SQLite.
#pragma once

#include <string>

#include "base/bytes.h"

namespace keiko {

struct SqliteHistoryOptions {
  std::string directory;  ///< of history.db; the journal's, so that a server has one folder
  /// With less than this free on the disk nothing is added: the journal, which every decision
  /// needs, lies there, too.
  Bytes floor = mebibytes(256);
  Bytes max_size;         ///< of the file; 0: no bound. Tests fill the medium by it.
};

}  // namespace keiko
