#include "ports/history/history_fake.h"

#include <iterator>

namespace keiko {

Done FakeHistory::append(const std::vector<HistoryRow>& rows) {
  if (disk_->full) return resource_exhausted("the fake disk is full");
  for (const HistoryRow& row : rows) {
    merge(disk_->rows[{row.step, row.at.ns, row.node}], row.subjects);
  }
  return done();
}

Result<std::vector<HistoryRow>> FakeHistory::read(const HistoryQuery& query) {
  std::vector<HistoryRow> found;
  for (const auto& [key, subjects] : disk_->rows) {
    const auto& [step, at, node] = key;
    const bool inside = step == query.step && at >= query.since.ns && at < query.until.ns;
    if (!inside || (!query.node.empty() && node != query.node)) continue;
    found.push_back({step, {at}, node, subjects});
  }
  return found;
}

Result<std::optional<WallTime>> FakeHistory::oldest(Duration step) {
  const auto found = disk_->rows.lower_bound({step, INT64_MIN, ""});
  if (found == disk_->rows.end() || std::get<0>(found->first) != step) return {std::nullopt};
  return std::optional(WallTime{std::get<1>(found->first)});
}

Done FakeHistory::remove(Duration step, WallTime before) {
  disk_->rows.erase(disk_->rows.lower_bound({step, INT64_MIN, ""}),
                    disk_->rows.lower_bound({step, before.ns, ""}));
  return done();
}

Result<Bytes> FakeHistory::size() {
  int64_t buckets = 0;
  for (const auto& [key, subjects] : disk_->rows) {
    for (const auto& [subject, metrics] : subjects) buckets += std::ssize(metrics);
  }
  return Bytes{buckets * static_cast<int64_t>(sizeof(Bucket))};
}

}  // namespace keiko
