// The log facade. A log line is an event: a name and its fields, "agent_joined node=n1 name=a".
// Levels after etcd's rules: debug for developers, info for changes of state, warn for what heals
// by itself, error for what needs a person. A state is logged when it changes, not while it lasts.
// Core rooms do not log: they return Note effects. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace keiko {

enum class LogLevel : int { kDebug = 0, kInfo = 1, kWarn = 2, kError = 3, kOff = 4 };

/// Writes one line: `event` a snake_case name, `text` its "key=value" fields.
void log_line(LogLevel level, std::string_view event, std::string_view text);

inline void log_debug(std::string_view event, std::string_view text = {}) {
  log_line(LogLevel::kDebug, event, text);
}
inline void log_info(std::string_view event, std::string_view text = {}) {
  log_line(LogLevel::kInfo, event, text);
}
inline void log_warn(std::string_view event, std::string_view text = {}) {
  log_line(LogLevel::kWarn, event, text);
}
inline void log_error(std::string_view event, std::string_view text = {}) {
  log_line(LogLevel::kError, event, text);
}

/// Lines below `level` are dropped from now on. The default is kInfo.
void set_log_level(LogLevel level);

/// Where lines go: a sink receives each finished line without its newline. The default writes to
/// standard error. apps/ installs spdlog here; tests may collect lines.
using LogSink = void (*)(LogLevel level, std::string_view line);
void set_log_sink(LogSink sink);

}  // namespace keiko
