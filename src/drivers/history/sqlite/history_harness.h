// What the tests of this driver share: a folder of their own and the conformance harness.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "drivers/history/sqlite/sqlite_history.h"

namespace keiko {

/// A fresh directory that goes away with its owner.
class HistoryFolder {
 public:
  HistoryFolder() {
    const char* root = std::getenv("TMPDIR");
    path_ = std::string(root != nullptr ? root : "/tmp") + "/keiko_history_XXXXXX";
    CHECK(mkdtemp(path_.data()) != nullptr);
  }
  HistoryFolder(const HistoryFolder&) = delete;
  HistoryFolder& operator=(const HistoryFolder&) = delete;
  ~HistoryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string file() const { return path_ + "/history.db"; }

 private:
  std::string path_;
};

class SqliteHistoryHarness {
 public:
  SqliteHistoryHarness() { reopen(); }

  History& history() { return *history_; }
  void reopen() { open_with({}); }

  /// The file may not grow beyond what it is now.
  void fill(bool full) {
    if (!full) return reopen();
    const Bytes used = MUST(history_->size());
    open_with(used);
  }

 private:
  void open_with(Bytes max_size) {
    history_.reset();
    history_ = MUST(open_sqlite_history({folder_.path(), Bytes{}, max_size}));
  }

  HistoryFolder folder_;
  std::unique_ptr<History> history_;
};

}  // namespace keiko
