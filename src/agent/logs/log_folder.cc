#include "agent/logs/log_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <optional>

#include "agent/log_watch.h"
#include "base/text.h"

namespace keiko::agent {
namespace {

namespace fs = std::filesystem;

/// A worker that is being started has its folder before it prints.
constexpr Duration kEmptyFor = minutes(10);
constexpr std::string_view kMark = ".shipped";

struct Attempt {
  JobId job;
  int32_t number = 0;
  fs::path path;
};

std::vector<Attempt> attempts_in(const std::string& logs_dir) {
  std::vector<Attempt> attempts;
  std::error_code error;
  for (const auto& job : fs::directory_iterator(logs_dir, error)) {
    const JobId id = job_of_log_folder(job.path().filename().native());
    if (!id) continue;
    for (const auto& attempt : fs::directory_iterator(job.path(), error)) {
      uint64_t number = 0;
      if (!parse_digits(attempt.path().filename().native(), number) || number == 0) continue;
      attempts.push_back({id, static_cast<int32_t>(number), attempt.path()});
    }
  }
  return attempts;
}

/// RETURNS: whether a file of an attempt's folder is of a worker, and of which.
bool parse_file(const std::string& file, WorkerKey& worker) {
  LogName name{worker, LogStream::kOut};
  uint64_t rank = 0;
  if (file.ends_with(kMark) && parse_digits(file.substr(0, file.size() - kMark.size()), rank)) {
    worker.rank = static_cast<int32_t>(rank);
    return true;
  }
  if (!parse_log_file(file, name)) return false;
  worker = name.worker;
  return true;
}

/// RETURNS: how long ago the file was last written; nothing if it is not there.
std::optional<Duration> age_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return seconds(time(nullptr) - status.st_mtim.tv_sec);
}

}  // namespace

LogFolder::LogFolder(const std::string& state_dir)
    : logs_dir_(state_dir + "/logs"), workers_dir_(state_dir + "/workers") {}

std::string LogFolder::mark_of(const WorkerKey& worker) const {
  return logs_dir_ + "/" + to_text(worker.job) + "/" + std::to_string(worker.attempt) + "/" +
         std::to_string(worker.rank) + std::string(kMark);
}

int64_t LogFolder::size_of(const LogName& name) const {
  struct stat status {};
  return stat(path_of(name).c_str(), &status) == 0 ? status.st_size : 0;
}

std::vector<logship::NodeOutput> LogFolder::list() const {
  std::vector<logship::NodeOutput> outputs;
  for (const Attempt& attempt : attempts_in(logs_dir_)) {
    std::set<WorkerKey> workers;
    std::error_code error;
    for (const auto& file : fs::directory_iterator(attempt.path, error)) {
      WorkerKey worker{attempt.job, attempt.number, 0};
      if (parse_file(file.path().filename(), worker)) workers.insert(worker);
    }
    for (const WorkerKey& worker : workers) {
      logship::NodeOutput output;
      output.worker = worker;
      output.size = Bytes{size_of({worker, LogStream::kOut}) + size_of({worker, LogStream::kErr})};
      output.end_told = !fs::exists(workers_dir_ + "/" + to_text(worker), error);
      const std::optional<Duration> since = age_of(mark_of(worker));
      output.shipped = since.has_value();
      output.since_shipped = since.value_or(Duration{});
      outputs.push_back(output);
    }
  }
  return outputs;
}

void LogFolder::mark_shipped(const WorkerKey& worker) const {
  const int fd = open(mark_of(worker).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd >= 0) close(fd);
}

void LogFolder::remove(const WorkerKey& worker) const {
  std::error_code error;
  fs::remove(path_of({worker, LogStream::kOut}), error);
  fs::remove(path_of({worker, LogStream::kErr}), error);
  fs::remove(mark_of(worker), error);  // last: until then the rest is known to be the server's
  const fs::path attempt = fs::path(mark_of(worker)).parent_path();
  fs::remove(attempt, error);  // if it is empty, and the job's as well
  fs::remove(attempt.parent_path(), error);
}

void LogFolder::remove_empty_folders() const {
  for (const Attempt& attempt : attempts_in(logs_dir_)) {
    const std::optional<Duration> age = age_of(attempt.path);
    if (!age || *age < kEmptyFor) continue;
    std::error_code error;
    fs::remove(attempt.path, error);  // if it is empty
    if (!error) fs::remove(attempt.path.parent_path(), error);
  }
}

}  // namespace keiko::agent
