// FakeLogStore: a LogStore in memory, over a disk that a test may fill, unplug and look into. The
// disk outlives the store, so a second store over it is the server's next start. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "ports/logs/log_store.h"

namespace keiko {

struct FakeLogDisk {
  struct Log {
    std::string text;
    std::vector<LogMark> marks;
    bool ended = false;
    size_t durable = 0;
    bool ended_durable = false;
  };

  std::mutex mutex;
  std::map<LogName, Log> logs;
  std::map<JobId, std::string> removed;
  bool full = false;
  Bytes free = gibibytes(100);

  /// What was not synced is gone but for its first `kept` bytes.
  void lose_power(size_t kept = 0);
  std::string text(const LogName& name);
};

class FakeLogStore : public LogStore {
 public:
  explicit FakeLogStore(std::shared_ptr<FakeLogDisk> disk = std::make_shared<FakeLogDisk>())
      : disk_(std::move(disk)) {}

  Result<LogExtent> extent(const LogName& name) override;
  Done append(const LogName& name, std::string_view data, bool ended, WallTime at) override;
  Done sync() override;
  Result<LogText> read(const LogQuery& query) override;
  Result<int64_t> offset_since(const LogName& name, WallTime since) override;
  Result<std::vector<KeptLogs>> usage() override;
  Result<Bytes> free_space() override;
  Done remove(JobId job, const std::string& why) override;

  FakeLogDisk& disk() { return *disk_; }

 private:
  Result<FakeLogDisk::Log*> find(const LogName& name);

  const std::shared_ptr<FakeLogDisk> disk_;
};

}  // namespace keiko
