// FileLogStore: workers' output in files that a person can read without us:
//
//   <folder>/j7/2/0.out         what rank 0 of attempt 2 of j7 printed
//   <folder>/j7/2/0.out.marks   when which bytes of it came, with checksums
//   <folder>/j8.removed         why the logs of j8 are not here any more
//
// A log that is opened for the first time is cut back to what its marks say was written whole. A
// few hundred logs stay open. Thread-safe; a sync does not hold up appends and reads.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "ports/logs/log_store.h"

namespace keiko {

namespace logs {
class KeptLog;
}

class FileLogStore : public LogStore {
 public:
  /// Makes the folder where it is missing. `most_open`: logs, of two descriptors each.
  /// REQUIRES: nobody else writes there.
  static Result<std::unique_ptr<FileLogStore>> open(const std::string& folder,
                                                    size_t most_open = 256);
  ~FileLogStore() override;

  Result<LogExtent> extent(const LogName& name) override;
  Done append(const LogName& name, std::string_view data, bool ended, WallTime at) override;
  Done sync() override;
  Result<LogText> read(const LogQuery& query) override;
  Result<int64_t> offset_since(const LogName& name, WallTime since) override;
  Result<std::vector<KeptLogs>> usage() override;
  Result<Bytes> free_space() override;
  Done remove(JobId job, const std::string& why) override;

 private:
  using LogPtr = std::shared_ptr<logs::KeptLog>;

  FileLogStore(std::string folder, size_t most_open)
      : folder_(std::move(folder)), most_open_(most_open) {}
  Result<LogPtr> find_locked(const LogName& name, bool create);
  Result<LogPtr> open_locked(const LogName& name, bool create);
  void close_some_locked();
  std::string tombstone(JobId job) const;

  const std::string folder_;
  const size_t most_open_;
  std::mutex sync_mutex_;             ///< one sync at a time
  std::mutex mutex_;                  ///< guards what follows
  std::map<LogName, LogPtr> open_;
  std::list<LogName> opened_;         ///< the same, longest open first
  std::set<std::string> new_folders_; ///< whose entries are not durable yet
};

}  // namespace keiko
