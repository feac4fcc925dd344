// The node's folder of logs: what earlier agents left, and what may go.
#include <sys/stat.h>

#include <ctime>
#include <filesystem>

#include "agent/log_shipper.h"

namespace keiko::agent {
namespace {

namespace fs = std::filesystem;

/// RETURNS: seconds since the file was last written; nothing if it is not there.
std::optional<int64_t> age_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return time(nullptr) - status.st_mtim.tv_sec;
}

std::set<WorkerKey> workers_in(const std::string& folder, const WorkerKey& attempt) {
  std::set<WorkerKey> keys;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder, error)) {
    LogName name{attempt, LogStream::kOut};
    if (parse_log_file(file.path().filename(), name)) keys.insert(name.worker);
  }
  return keys;
}

}  // namespace

void LogShipper::scan_folder() {
  std::error_code error;
  for (const auto& job : fs::directory_iterator(options_.logs_dir, error)) {
    const JobId id = job_of_log_folder(job.path().filename().native());
    if (!id) continue;
    for (const auto& attempt : fs::directory_iterator(job.path(), error)) {
      uint64_t number = 0;
      if (!parse_digits(attempt.path().filename().native(), number) || number == 0) continue;
      const std::set<WorkerKey> keys =
          workers_in(attempt.path(), {id, static_cast<int32_t>(number), 0});
      bool removed = false;
      for (const WorkerKey& key : keys) removed = take_found(key, attempt.path()) || removed;
      if (!removed) continue;
      fs::remove(attempt.path(), error);  // if it is empty, and the job's as well
      fs::remove(job.path(), error);
    }
  }
}

/// Ships what nobody else will, or removes what the server has had for long. RETURNS: whether it
/// removed anything.
bool LogShipper::take_found(const WorkerKey& key, const std::string& folder) {
  const LogName out{key, LogStream::kOut};
  const LogName err{key, LogStream::kErr};
  if (live_.count(key) != 0 || state_.knows(out) || state_.knows(err)) return false;
  const std::string mark = folder + "/" + std::to_string(key.rank) + ".shipped";
  const std::optional<int64_t> age = age_of(mark);
  if (!age) {
    state_.set_size(out, size_of(out), true);
    state_.set_size(err, size_of(err), true);
    return false;
  }
  if (seconds(*age) < keep_) return false;
  std::error_code error;
  for (const std::string& path : {path_of(out), path_of(err), mark}) fs::remove(path, error);
  return true;
}

}  // namespace keiko::agent
