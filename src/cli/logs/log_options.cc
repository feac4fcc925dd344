#include "cli/logs/log_options.h"

#include <regex.h>

#include <memory>
#include <set>

#include "base/text.h"
#include "cli/units.h"
#include "wire/logs/log_words.h"

namespace keiko::cli {
Result<std::vector<int32_t>> parse_ranks(const std::vector<std::string>& words, int32_t workers,
                                         const std::string& job) {
  std::set<int32_t> ranks;
  for (const std::string& word : words) {
    Result<std::set<int32_t>> read = read_ranks(word, workers);
    if (read.ok()) {
      ranks.merge(*read);
      continue;
    }
    const bool beyond = read.error().code == Code::kOutOfRange;
    return invalid_argument((beyond ? job + " has " : "--rank ") + read.error().message);
  }
  return std::vector<int32_t>(ranks.begin(), ranks.end());
}

Result<Time> parse_since(const std::string& text, Time now) {
  const Result<Duration> span = read_duration(text);
  if (span.ok()) return now - *span;
  Result<Time> point = read_point_of_time(text, now);
  return point.ok() ? point : invalid_argument("--since " + point.error().message);
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
