#include "server/readings/reading_board.h"

#include "wire/convert.h"

namespace keiko::server {

void ReadingBoard::put(uint64_t connection, v1::ReadingReport report) {
  clean(report);
  const std::lock_guard lock(mutex_);
  told_[connection] = {clock_.now(), std::move(report)};
}

void ReadingBoard::remove(uint64_t connection) {
  const std::lock_guard lock(mutex_);
  told_.erase(connection);
}

std::optional<v1::ReadingReport> ReadingBoard::find(uint64_t connection) const {
  const std::lock_guard lock(mutex_);
  const auto found = told_.find(connection);
  if (found == told_.end() || clock_.now() - found->second.at > kFresh) return std::nullopt;
  return found->second.report;
}

}  // namespace keiko::server
