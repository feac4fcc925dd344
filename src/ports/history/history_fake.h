// FakeHistory: a History in memory, with a medium that can be full. For one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "ports/history/history.h"

namespace keiko {

/// What stays when the store is opened again.
struct FakeHistoryDisk {
  using Key = std::tuple<Duration, int64_t, std::string>;  ///< step, begin, node
  std::map<Key, SubjectBuckets> rows;
  bool full = false;
};

class FakeHistory : public History {
 public:
  explicit FakeHistory(std::shared_ptr<FakeHistoryDisk> disk) : disk_(std::move(disk)) {}

  Done append(const std::vector<HistoryRow>& rows) override;
  Result<std::vector<HistoryRow>> read(const HistoryQuery& query) override;
  Result<std::optional<WallTime>> oldest(Duration step) override;
  Done remove(Duration step, WallTime before) override;
  Result<Bytes> size() override;

 private:
  std::shared_ptr<FakeHistoryDisk> disk_;
};

}  // namespace keiko
