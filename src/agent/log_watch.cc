#include "agent/log_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>

namespace keiko::agent {

LogWatch::LogWatch(std::string logs_dir)
    : logs_dir_(std::move(logs_dir)), fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

LogWatch::~LogWatch() {
  if (fd_ >= 0) close(fd_);
}

bool LogWatch::add(const WorkerKey& key) {
  const Attempt attempt{key.job, key.attempt};
  if (fd_ < 0) return false;
  if (watches_.count(attempt) != 0) return true;
  const std::string folder =
      logs_dir_ + "/" + to_text(key.job) + "/" + std::to_string(key.attempt);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const int watch = inotify_add_watch(fd_, folder.c_str(), IN_MODIFY | IN_ONLYDIR);
  if (watch < 0) return false;
  watches_[attempt] = watch;
  attempts_[watch] = attempt;
  return true;
}

void LogWatch::remove(const WorkerKey& key) {
  const auto found = watches_.find({key.job, key.attempt});
  if (found == watches_.end()) return;
  inotify_rm_watch(fd_, found->second);
  attempts_.erase(found->second);
  watches_.erase(found);
}

LogWatch::News LogWatch::take() {
  News news;
  alignas(inotify_event) char buffer[16 * 1024];
  ssize_t got = 0;
  while (fd_ >= 0 && (got = read(fd_, buffer, sizeof(buffer))) > 0) {
    for (const char* at = buffer; at < buffer + got;) {
      const auto* const event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + event->len;
      if ((event->mask & IN_Q_OVERFLOW) != 0) news.lost = true;
      const auto attempt = attempts_.find(event->wd);
      if (attempt == attempts_.end() || event->len == 0) continue;
      LogName name{{attempt->second.first, attempt->second.second, 0}, LogStream::kOut};
      if (parse_log_file(event->name, name)) news.grown.insert(name);
    }
  }
  return news;
}

bool parse_log_file(const std::string& file, LogName& name) {
  const size_t dot = file.find('.');
  if (dot == std::string::npos) return false;
  const Result<LogStream> stream = parse_log_stream(std::string_view(file).substr(dot + 1));
  const char* const end = file.data() + dot;
  const auto [stop, error] = std::from_chars(file.data(), end, name.worker.rank);
  if (!stream.ok() || error != std::errc() || stop != end || name.worker.rank < 0) return false;
  name.stream = *stream;
  return true;
}

}  // namespace keiko::agent
