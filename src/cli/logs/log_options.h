// What `keiko logs` may be told in words: ranks, a time since when, a pattern.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace keiko::cli {

/// Reads "0", "0,2" and ranges "4-7", several times. RETURNS: in order, each once; a rank of
/// `workers` or above is refused, naming `job`.
Result<std::vector<int32_t>> parse_ranks(const std::vector<std::string>& words, int32_t workers,
                                         const std::string& job);

/// Reads a span before `now` ("10m") or a time in UTC ("2026-12-02T07:06:53Z", seconds and date of
/// today may be left out).
Result<Time> parse_since(const std::string& text, Time now);

/// An extended regular expression (POSIX). RETURNS: whether a line matches anywhere.
Result<std::function<bool(const std::string& line)>> parse_pattern(const std::string& pattern);

}  // namespace keiko::cli
