// The journal in one SQLite file: <directory>/journal.db, with its write-ahead log beside it. Each
// batch is one row and one transaction with one flush, so a batch is there whole or not at all. The
// term stands in the same file and is compared inside every write: a stale writer cannot write,
// lock or no lock. Who calls append() groups what it has, since the flush is what costs.
// For one thread at a time; another process may read meanwhile.
#pragma once

#include <memory>

#include "drivers/journal/sqlite/options.h"
#include "ports/journal.h"

namespace keiko {

/// Opens the journal in `options.directory`, making it if there is none.
/// RETURNS: kFailedPrecondition for a directory written by a newer Keiko, with both versions;
/// kPermissionDenied, kNotFound or kResourceExhausted if the directory cannot be made or written;
/// kDataLoss if the file is damaged.
Result<std::unique_ptr<Journal>> open_sqlite_journal(const SqliteJournalOptions& options);

}  // namespace keiko
