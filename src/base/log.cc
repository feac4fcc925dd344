#include "base/log.h"

#include <atomic>
#include <chrono>
#include <cstdio>

#include "base/time.h"

namespace keiko {
namespace {

void write_to_stderr(LogLevel level, std::string_view line) {
  static constexpr const char* kNames[] = {"DEBUG", "INFO", "WARN", "ERROR", "OFF"};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  std::fprintf(stderr, "%s %-5s %.*s\n", to_text(WallTime{ns}).c_str(),
               kNames[static_cast<int>(level)], static_cast<int>(line.size()), line.data());
}

std::atomic<LogLevel> log_level{LogLevel::kInfo};
std::atomic<LogSink> log_sink{&write_to_stderr};

}  // namespace

void log_line(LogLevel level, std::string_view event, std::string_view text) {
  if (level < log_level.load(std::memory_order_relaxed)) return;
  std::string line(event);
  if (!text.empty()) {
    line += ' ';
    line += text;
  }
  log_sink.load(std::memory_order_acquire)(level, line);
}

void set_log_level(LogLevel level) { log_level.store(level); }
void set_log_sink(LogSink sink) { log_sink.store(sink != nullptr ? sink : &write_to_stderr); }

}  // namespace keiko
