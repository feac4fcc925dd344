// The node's folder of logs: what earlier agents left, and what may go.
#include <sys/stat.h>

#include <charconv>
#include <ctime>
#include <filesystem>

#include "agent/log_shipper.h"

namespace keiko::agent {
namespace {

namespace fs = std::filesystem;

/// RETURNS: the number in "j7" or "2"; 0 for other names.
uint64_t number_of(const std::string& name, bool job) {
  const size_t from = job && name[0] == 'j' ? 1 : 0;
  uint64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + from, end, number);
  if ((job && from == 0) || error != std::errc() || stop != end) return 0;
  return number;
}

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
    const uint64_t job_number = number_of(job.path().filename(), true);
    if (job_number == 0) continue;
    for (const auto& attempt : fs::directory_iterator(job.path(), error)) {
      const uint64_t attempt_number = number_of(attempt.path().filename(), false);
      if (attempt_number == 0) continue;
      const std::set<WorkerKey> keys =
          workers_in(attempt.path(), {JobId{job_number}, static_cast<int32_t>(attempt_number), 0});
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
  if (seconds(*age) < options_.keep) return false;
  std::error_code error;
  for (const std::string& path : {path_of(out), path_of(err), mark}) fs::remove(path, error);
  return true;
}

}  // namespace keiko::agent
