#include "drivers/logs/files/file_log_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "drivers/logs/files/kept_log.h"

namespace keiko {
namespace {

namespace fs = std::filesystem;
using logs::KeptLog;

/// With more logs than this to sync, the whole file system at once is cheaper.
constexpr size_t kSyncOneByOne = 32;

Done sync_folder(const std::string& path, bool whole_file_system = false) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? done() : Done(errno_error("open " + path, errno));
  const int outcome = whole_file_system ? syncfs(fd) : fsync(fd);
  const int error = errno;
  ::close(fd);
  if (outcome != 0) return errno_error("sync " + path, error);
  return done();
}

/// Files of one job: their size together and the latest change.
KeptLogs measure(JobId job, const std::string& folder) {
  KeptLogs kept;
  kept.job = job;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    struct stat status {};
    if (::stat(at->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    kept.size.count += status.st_size;
    kept.newest.ns = std::max(kept.newest.ns, status.st_mtim.tv_sec * 1'000'000'000 +
                                                  status.st_mtim.tv_nsec);
  }
  return kept;
}

}  // namespace

Result<std::unique_ptr<FileLogStore>> FileLogStore::open(const std::string& folder,
                                                               size_t most_open) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return unavailable("cannot make the folder of logs " + folder + ": " +
                                error.message());
  return std::unique_ptr<FileLogStore>(new FileLogStore(folder, most_open));
}

FileLogStore::~FileLogStore() = default;

std::string FileLogStore::tombstone(JobId job) const {
  return folder_ + "/" + to_text(job) + ".removed";
}

Result<FileLogStore::LogPtr> FileLogStore::find_locked(const LogName& name, bool create) {
  const auto found = open_.find(name);
  if (found != open_.end()) return found->second;
  return open_locked(name, create);
}

Result<FileLogStore::LogPtr> FileLogStore::open_locked(const LogName& name, bool create) {
  const std::string path = folder_ + "/" + log_path(name);
  Result<LogPtr> opened = KeptLog::open(path, false);
  if (!opened.ok() && opened.error().code == Code::kNotFound) {
    std::ifstream removed(tombstone(name.worker.job));
    std::stringstream why;
    if (removed && why << removed.rdbuf()) return failed_precondition(why.str());
    if (!create) return not_found("there is no output of " + to_text(name) + " here");
    std::error_code error;
    const std::string attempt = fs::path(path).parent_path();
    fs::create_directories(attempt, error);
    if (error) {
      Error out = unavailable("cannot make " + attempt + ": " + error.message());
      if (error == std::errc::no_space_on_device) out.code = Code::kResourceExhausted;
      return out;
    }
    new_folders_.insert({attempt, fs::path(attempt).parent_path(), folder_});
    opened = KeptLog::open(path, true);
  }
  const LogPtr log = TRY(std::move(opened));
  close_some_locked();
  open_[name] = log;
  opened_.push_back(name);
  return log;
}

void FileLogStore::close_some_locked() {
  // One with something to sync stays; each is looked at once.
  for (size_t i = opened_.size(); i > 0 && open_.size() >= most_open_; --i) {
    const LogName oldest = opened_.front();
    opened_.pop_front();
    const auto found = open_.find(oldest);
    if (found == open_.end()) continue;
    if (found->second->dirty) opened_.push_back(oldest);
    else open_.erase(found);
  }
}

Result<LogExtent> FileLogStore::extent(const LogName& name) {
  const std::lock_guard lock(mutex_);
  return TRY(find_locked(name, false))->extent();
}

Done FileLogStore::append(const LogName& name, std::string_view data, bool ended, WallTime at) {
  const std::lock_guard lock(mutex_);
  const LogPtr log = TRY(find_locked(name, true));
  const bool again = log->extent().ended;
  if (again && !(data.empty() && ended)) {
    return failed_precondition("the output " + to_text(name) + " has ended");
  }
  if (!again) TRY(log->append(data, ended, at));
  log->dirty = true;
  return done();
}

Done FileLogStore::sync() {
  const std::lock_guard one(sync_mutex_);
  std::vector<std::pair<LogPtr, KeptLog::Place>> dirty;
  std::set<std::string> folders;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, log] : open_) {
      if (!log->dirty) continue;
      log->dirty = false;
      dirty.emplace_back(log, log->place());
    }
    folders.swap(new_folders_);
  }
  const bool together = dirty.size() > kSyncOneByOne;
  Done outcome = together ? sync_folder(folder_, true) : done();
  const Done synced_together = outcome;
  for (const std::string& folder : together ? std::set<std::string>{} : folders) {
    Done synced = sync_folder(folder);
    if (!synced.ok() && outcome.ok()) outcome = std::move(synced);
  }
  for (auto& [log, place] : dirty) {
    Done synced = together ? synced_together : log->sync_files(place);
    const std::lock_guard lock(mutex_);
    if (synced.ok()) {
      log->settle(place);
      continue;
    }
    (void)log->give_up_loose();
    if (outcome.ok()) outcome = std::move(synced);
  }
  if (!outcome.ok()) {
    const std::lock_guard lock(mutex_);
    new_folders_.merge(folders);
  }
  return outcome;
}

Result<LogText> FileLogStore::read(const LogQuery& query) {
  LogPtr log;
  LogExtent extent;
  int64_t marks = 0;
  {
    const std::lock_guard lock(mutex_);
    log = TRY(find_locked(query.name, false));
    extent = log->extent();
    marks = log->place().marks;
  }
  return log->read(query, extent, marks);
}

Result<int64_t> FileLogStore::offset_since(const LogName& name, WallTime since) {
  const std::lock_guard lock(mutex_);
  return TRY(find_locked(name, false))->offset_since(since);
}

Result<Bytes> FileLogStore::free_space() {
  struct statvfs space {};
  if (statvfs(folder_.c_str(), &space) != 0) return errno_error("statvfs " + folder_, errno);
  return Bytes{static_cast<int64_t>(space.f_bavail * space.f_frsize)};
}

Result<std::vector<KeptLogs>> FileLogStore::usage() {
  std::vector<KeptLogs> usage;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    const JobId job = job_of_log_folder(at->path().filename().native());
    if (job) usage.push_back(measure(job, at->path()));
  }
  if (error) return unavailable("cannot list " + folder_ + ": " + error.message());
  std::sort(usage.begin(), usage.end(),
            [](const KeptLogs& a, const KeptLogs& b) { return a.job < b.job; });
  return usage;
}

Done FileLogStore::remove(JobId job, const std::string& why) {
  const std::lock_guard lock(mutex_);
  // The word first: a start in between finds a job whose logs are to be removed again.
  std::ofstream word(tombstone(job), std::ios::trunc);
  word << why;
  word.close();
  if (!word) return unavailable("cannot write " + tombstone(job));
  std::erase_if(open_, [&](const auto& entry) { return entry.first.worker.job == job; });
  std::erase_if(opened_, [&](const LogName& name) { return name.worker.job == job; });
  std::error_code error;
  fs::remove_all(folder_ + "/" + to_text(job), error);
  if (error) return unavailable("cannot remove the logs of " + to_text(job) + ": " +
                                error.message());
  return done();
}

}  // namespace keiko
