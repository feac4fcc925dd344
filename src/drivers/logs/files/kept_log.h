// KeptLog: one log of the store and its marks, open. For one thread at a time, reads excepted: they
// may go on beside an append.
#pragma once

#include <memory>
#include <string>

#include "drivers/logs/files/log_marks.h"
#include "ports/logs/log_store.h"

namespace keiko::logs {

class KeptLog {
 public:
  /// Opens the log at `path` and its marks at `path`.marks, and cuts both back to what was written
  /// whole. RETURNS: kNotFound if it is not there and `create` is off.
  static Result<std::shared_ptr<KeptLog>> open(const std::string& path, bool create);
  ~KeptLog();
  KeptLog(const KeptLog&) = delete;
  KeptLog& operator=(const KeptLog&) = delete;

  LogExtent extent() const { return {size_, ended_}; }
  Done append(std::string_view data, bool ended, WallTime at);

  /// What a sync may be about to make durable; settle(mark, ok) follows.
  struct Place {
    int64_t size = 0;
    int64_t marks = 0;
    bool ended = false;
  };
  Place place() const { return {size_, marks_, ended_}; }
  Done sync_files(const Place& place) const;
  void settle(const Place& durable) {
    durable_ = durable;
    synced_size_ = durable.size;
  }
  /// After a sync that failed: what was not durable is given up, as the kernel may have done.
  Done give_up_loose();

  /// REQUIRES: `extent` is of this log, at any earlier time.
  Result<LogText> read(const LogQuery& query, const LogExtent& extent, int64_t marks) const;
  int64_t offset_since(WallTime since) const;

  bool dirty = false;  ///< the store's: something to sync

 private:
  KeptLog(int text, int marks) : text_fd_(text), marks_fd_(marks) {}
  void recover();
  bool is_whole(const MarkRecord& mark) const;
  Done cut_to(const Place& place);
  void add_marks(LogText& text, int64_t begin, int64_t count) const;

  const int text_fd_;
  const int marks_fd_;
  int64_t size_ = 0;
  int64_t marks_ = 0;
  bool ended_ = false;
  Place durable_;
  int64_t synced_size_ = 0;  ///< of the text; -1: it was there before us, perhaps not durably
};

}  // namespace keiko::logs
