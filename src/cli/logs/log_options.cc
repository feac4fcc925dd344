#include "cli/logs/log_options.h"

#include <regex.h>

#include <ctime>
#include <memory>
#include <set>

#include "base/id.h"
#include "base/text.h"
#include "cli/units.h"

namespace keiko::cli {
namespace {

Result<std::pair<uint64_t, uint64_t>> parse_range(const std::string& word) {
  const std::vector<std::string> ends = split(word, '-');
  uint64_t low = 0;
  uint64_t high = 0;
  const bool read = (ends.size() == 1 || ends.size() == 2) && parse_digits(ends.front(), low) &&
                    parse_digits(ends.back(), high) && low <= high;
  if (!read) {
    return invalid_argument("--rank " + quote_text(word) + ": write ranks as 3, 0,2 or 4-7");
  }
  return std::pair{low, high};
}

}  // namespace

Result<std::vector<int32_t>> parse_ranks(const std::vector<std::string>& words, int32_t workers,
                                         const std::string& job) {
  std::set<int32_t> ranks;
  for (const std::string& word : words) {
    for (const std::string& part : split(word, ',')) {
      const auto [low, high] = TRY(parse_range(part));
      if (high >= static_cast<uint64_t>(workers)) {
        return invalid_argument(job + " has no rank " + std::to_string(high) +
                                "; its ranks are 0 to " + std::to_string(workers - 1));
      }
      for (uint64_t rank = low; rank <= high; ++rank) ranks.insert(static_cast<int32_t>(rank));
    }
  }
  return std::vector<int32_t>(ranks.begin(), ranks.end());
}

Result<Time> parse_since(const std::string& text, Time now) {
  const Result<Duration> span = read_duration(text);
  if (span.ok()) return now - *span;
  const std::time_t today = now.ns / 1'000'000'000;
  for (const char* const form : {"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
                                 "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d", "%H:%M:%S",
                                 "%H:%M"}) {
    std::tm parts{};
    gmtime_r(&today, &parts);
    parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
    const char* const end = strptime(text.c_str(), form, &parts);
    if (end != nullptr && *end == '\0') return Time{} + seconds(timegm(&parts));
  }
  return invalid_argument(
      "--since " + quote_text(text) +
      ": write a span (10m, 2h) or a time in UTC (2026-12-02T07:06:53Z, 07:06)");
}

Result<std::function<bool(const std::string& line)>> parse_pattern(const std::string& pattern) {
  auto compiled = std::make_unique<regex_t>();
  const int failed = regcomp(compiled.get(), pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (failed != 0) {
    char why[128];
    regerror(failed, compiled.get(), why, sizeof(why));
    return invalid_argument("--grep " + quote_text(pattern) + ": " + why);
  }
  const std::shared_ptr<regex_t> shared(compiled.release(), [](regex_t* regex) {
    regfree(regex);
    delete regex;
  });
  return std::function<bool(const std::string&)>([shared](const std::string& line) {
    return regexec(shared.get(), line.c_str(), 0, nullptr, 0) == 0;
  });
}

}  // namespace keiko::cli
