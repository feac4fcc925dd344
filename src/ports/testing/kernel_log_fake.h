// FakeKernelLog: a kernel that says what the test says. For one thread; deterministic.
#pragma once

#include <deque>
#include <string>
#include <utility>

#include "base/check.h"
#include "ports/kernel_log.h"

namespace keiko {

class FakeKernelLog : public KernelLog {
 public:
  Result<KernelLogBatch> read(size_t most) override {
    CHECK(most > 0);
    if (error_.code != Code::kOk) return error_;
    KernelLogBatch batch;
    batch.lost = std::exchange(lost_, 0);
    batch.unreadable = std::exchange(unreadable_, 0);
    while (!waiting_.empty() && batch.records.size() < most) {
      batch.records.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    batch.more = !waiting_.empty();
    return batch;
  }

  /// The kernel says a line, `boot_us` after its start.
  void say(std::string text, int64_t boot_us = 0) {
    KernelRecord record;
    record.sequence = next_++;
    record.boot_us = boot_us;
    record.text = std::move(text);
    waiting_.push_back(std::move(record));
  }
  /// The oldest records that nobody has read yet are overwritten.
  void overwrite(uint64_t count) {
    for (uint64_t i = 0; i < count && !waiting_.empty(); ++i, ++lost_) waiting_.pop_front();
  }
  /// A record that is no record.
  void say_nonsense() {
    ++next_;
    ++unreadable_;
  }
  /// Reading fails with this error until it is called with a code of kOk.
  void fail_with(Error error) { error_ = std::move(error); }

 private:
  std::deque<KernelRecord> waiting_;
  uint64_t next_ = 1;
  uint64_t lost_ = 0;
  uint64_t unreadable_ = 0;
  Error error_{Code::kOk, {}, {}};
};

}  // namespace keiko
