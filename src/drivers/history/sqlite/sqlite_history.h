// The History in one SQLite file, history.db: a row for each step, node and span, in the order of
// their coming, and an index of them by node; names stand once, in a table of words. Rows that lie
// by node instead are read faster and written five times as slowly (docs/BENCH.md).
//
// A commit is not flushed at once (WAL, synchronous=NORMAL): a crash of the machine costs the last
// seconds, a crash of the server nothing. A file that turns out to be damaged, when it is opened or
// later, is put aside as history.db.damaged and an empty one begins; the log says so. For one
// thread at a time.
#pragma once

#include <memory>

#include "drivers/history/sqlite/options.h"
#include "ports/history/history.h"

namespace keiko {

/// RETURNS: the store; kFailedPrecondition for a file of a newer Keiko or of another program,
/// kPermissionDenied or kNotFound for a directory that cannot be written.
Result<std::unique_ptr<History>> open_sqlite_history(const SqliteHistoryOptions& options);

}  // namespace keiko
