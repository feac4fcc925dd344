#include "ports/logs/log_store_fake.h"

#include <algorithm>

namespace keiko {

void FakeLogDisk::lose_power(size_t kept) {
  const std::lock_guard lock(mutex);
  for (auto& [name, log] : logs) {
    log.text.resize(std::min(log.text.size(), log.durable + kept));
    log.ended = log.ended_durable;
    const auto size = static_cast<int64_t>(log.text.size());
    std::erase_if(log.marks, [&](const LogMark& mark) { return mark.offset >= size; });
  }
}

std::string FakeLogDisk::text(const LogName& name) {
  const std::lock_guard lock(mutex);
  const auto found = logs.find(name);
  return found == logs.end() ? std::string{} : found->second.text;
}

Result<FakeLogDisk::Log*> FakeLogStore::find(const LogName& name) {
  const auto removed = disk_->removed.find(name.worker.job);
  if (removed != disk_->removed.end()) return failed_precondition(removed->second);
  const auto found = disk_->logs.find(name);
  if (found == disk_->logs.end()) return not_found("no log " + to_text(name));
  return &found->second;
}

Result<LogExtent> FakeLogStore::extent(const LogName& name) {
  const std::lock_guard lock(disk_->mutex);
  const FakeLogDisk::Log* const log = TRY(find(name));
  return LogExtent{static_cast<int64_t>(log->text.size()), log->ended};
}

Done FakeLogStore::append(const LogName& name, std::string_view data, bool ended, WallTime at) {
  const std::lock_guard lock(disk_->mutex);
  Result<FakeLogDisk::Log*> found = find(name);
  if (!found.ok() && found.error().code != Code::kNotFound) return std::move(found).error();
  if (found.ok() && (*found)->ended) {
    if (data.empty() && ended) return done();
    return failed_precondition(to_text(name) + " has ended");
  }
  if (disk_->full) return resource_exhausted("the disk is full");
  FakeLogDisk::Log& log = disk_->logs[name];
  if (!data.empty()) log.marks.push_back({static_cast<int64_t>(log.text.size()), at});
  log.text += data;
  log.ended = ended;
  return done();
}

Done FakeLogStore::sync() {
  const std::lock_guard lock(disk_->mutex);
  for (auto& [name, log] : disk_->logs) {
    log.durable = log.text.size();
    log.ended_durable = log.ended;
  }
  return done();
}

Result<LogText> FakeLogStore::read(const LogQuery& query) {
  const std::lock_guard lock(disk_->mutex);
  const FakeLogDisk::Log& log = *TRY(find(query.name));
  LogText text;
  const auto at = static_cast<size_t>(std::max<int64_t>(query.offset, 0));
  if (at < log.text.size()) text.data = log.text.substr(at, query.most);
  if (!query.times) return text;
  const auto end = static_cast<int64_t>(at + text.data.size());
  for (const LogMark& mark : log.marks) {
    if (mark.offset >= end) break;
    if (mark.offset <= query.offset) text.marks.clear();
    text.marks.push_back(mark);
  }
  return text;
}

Result<int64_t> FakeLogStore::offset_since(const LogName& name, WallTime since) {
  const std::lock_guard lock(disk_->mutex);
  const FakeLogDisk::Log& log = *TRY(find(name));
  for (const LogMark& mark : log.marks) {
    if (mark.at.ns >= since.ns) return mark.offset;
  }
  return static_cast<int64_t>(log.text.size());
}

Result<Bytes> FakeLogStore::free_space() {
  const std::lock_guard lock(disk_->mutex);
  return disk_->free;
}

Result<std::vector<KeptLogs>> FakeLogStore::usage() {
  const std::lock_guard lock(disk_->mutex);
  std::map<JobId, KeptLogs> jobs;
  for (const auto& [name, log] : disk_->logs) {
    KeptLogs& kept = jobs[name.worker.job];
    kept.job = name.worker.job;
    kept.size.count += static_cast<int64_t>(log.text.size());
    if (!log.marks.empty()) kept.newest.ns = std::max(kept.newest.ns, log.marks.back().at.ns);
  }
  std::vector<KeptLogs> usage;
  for (const auto& [job, kept] : jobs) usage.push_back(kept);
  return usage;
}

Done FakeLogStore::remove(JobId job, const std::string& why) {
  const std::lock_guard lock(disk_->mutex);
  std::erase_if(disk_->logs, [&](const auto& log) { return log.first.worker.job == job; });
  disk_->removed[job] = why;
  return done();
}

}  // namespace keiko
