#include "wire/logs/log_words.h"

#include <ctime>

#include "base/id.h"
#include "base/text.h"

namespace keiko {

Result<std::set<int32_t>> read_ranks(const std::string& text, int32_t workers) {
  std::set<int32_t> ranks;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> ends = split(part, '-');
    uint64_t low = 0;
    uint64_t high = 0;
    const bool read = ends.size() <= 2 && parse_digits(ends.front(), low) &&
                      parse_digits(ends.back(), high) && low <= high;
    if (!read) return invalid_argument(quote_text(part) + ": write ranks as 3, 0,2 or 4-7");
    if (high >= static_cast<uint64_t>(workers)) {
      return Error{Code::kOutOfRange,
                   "no rank " + std::to_string(high) + "; its ranks are 0 to " +
                       std::to_string(workers - 1),
                   {}};
    }
    for (uint64_t rank = low; rank <= high; ++rank) ranks.insert(static_cast<int32_t>(rank));
  }
  return ranks;
}

Result<Time> read_point_of_time(const std::string& text, Time now) {
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
  return invalid_argument(quote_text(text) + ": write a span (10m, 2h) or a time in UTC "
                          "(2026-12-02T07:06:53Z, 07:06)");
}

}  // namespace keiko
