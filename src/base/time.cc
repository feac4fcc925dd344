#include "base/time.h"

#include <cstdio>
#include <ctime>
#include <limits>

#include "base/text.h"

namespace keiko {

std::string to_text(Duration duration) {
  char buffer[64];
  if (duration.ns < 0) return "-" + to_text(Duration{-duration.ns});
  const int64_t ns = duration.ns;
  // 999.5 would be rounded to 1e+03, so the next unit begins there.
  if (ns < 999'500) {
    std::snprintf(buffer, sizeof buffer, "%.3gus", static_cast<double>(ns) / 1e3);
  } else if (ns < 999'500'000) {
    std::snprintf(buffer, sizeof buffer, "%.3gms", static_cast<double>(ns) / 1e6);
  } else if (ns < 60'000'000'000) {
    std::snprintf(buffer, sizeof buffer, "%.3gs", static_cast<double>(ns) / 1e9);
  } else {
    const long long s = ns / 1'000'000'000;
    if (s < 3600) {
      std::snprintf(buffer, sizeof buffer, "%lldm %llds", s / 60, s % 60);
    } else if (s < 86400) {
      std::snprintf(buffer, sizeof buffer, "%lldh %lldm", s / 3600, s % 3600 / 60);
    } else {
      std::snprintf(buffer, sizeof buffer, "%lldd %lldh", s / 86400, s % 86400 / 3600);
    }
  }
  return buffer;
}

std::string to_text(WallTime time) {
  const std::time_t whole = static_cast<std::time_t>(time.ns / 1'000'000'000);
  const int millis = static_cast<int>(time.ns / 1'000'000 % 1'000);
  std::tm parts{};
  gmtime_r(&whole, &parts);
  char buffer[64];
  const size_t used = std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(buffer + used, sizeof buffer - used, ".%03dZ", millis);
  return buffer;
}

namespace {

/// RETURNS: nanoseconds in one unit, 0 for an unknown unit.
int64_t unit_ns(std::string_view unit) {
  if (unit == "ns") return 1;
  if (unit == "us") return 1'000;
  if (unit == "ms") return 1'000'000;
  if (unit == "s" || unit.empty()) return 1'000'000'000;
  if (unit == "m" || unit == "min") return 60'000'000'000;
  if (unit == "h") return 3'600'000'000'000;
  if (unit == "d") return 86'400'000'000'000;
  return 0;
}

Error bad_duration(std::string_view text) {
  return invalid_argument("'" + std::string(text) +
                          "' is not a duration; write a number and a unit (ms, s, m, h, d), "
                          "for example 90s or 1h30m");
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const std::string_view whole = text;
  if (text.empty()) return bad_duration(whole);
  double total = 0;
  while (!text.empty()) {
    double number = 0;
    const size_t digits = scan_number(text, number);
    if (digits == 0) return bad_duration(whole);
    text.remove_prefix(digits);
    size_t letters = 0;
    while (letters < text.size() && text[letters] >= 'a' && text[letters] <= 'z') ++letters;
    const int64_t unit = unit_ns(text.substr(0, letters));
    if (unit == 0) return bad_duration(whole);
    total += number * static_cast<double>(unit);
    text.remove_prefix(letters);
  }
  if (total >= static_cast<double>(std::numeric_limits<int64_t>::max())) {
    return invalid_argument("'" + std::string(whole) + "' is longer than 292 years");
  }
  return Duration{static_cast<int64_t>(total + 0.5)};
}

}  // namespace keiko
