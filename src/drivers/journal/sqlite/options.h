// Options of the SQLite journal.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/time.h"

namespace keiko {

struct SqliteJournalOptions {
  /// The state directory; made with mode 0700 if it is not there (its parents must be).
  std::string directory;

  /// Lets acquire() fence a holder that is alive but hangs. Without it a journal that another
  /// process holds is refused, which is what a person who starts a server twice wants.
  bool take_over = false;

  /// Pages of 4 KiB that the write-ahead log collects before they move into the database. A longer
  /// log makes moves rarer, but it grows for longer before its blocks are reused; of 250, 1,000,
  /// 4,000 and 16,000 pages, 1,000 gave the most appends per second on ext4.
  int checkpoint_pages = 1000;

  /// How long a write waits for another process that is in the middle of one.
  Duration busy_timeout = seconds(5);

  /// Upper bound for the database file; 0 is none. For hosts with a quota, and for tests.
  Bytes max_size;
};

}  // namespace keiko
