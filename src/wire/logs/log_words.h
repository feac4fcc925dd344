// Which ranks and since when, as people write it: the same words on the command line and in a URL.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace keiko {

/// Reads "3", "0,2" and ranges "4-7". RETURNS: kOutOfRange naming the first rank that is `workers`
/// or above; kInvalidArgument with the forms for anything else.
Result<std::set<int32_t>> read_ranks(const std::string& text, int32_t workers);

/// Reads a time in UTC: "2026-12-02T07:06:53Z"; the seconds, the time or the date, then today's,
/// may be left out. RETURNS: kInvalidArgument with the forms, spans among them, for anything else.
Result<Time> read_point_of_time(const std::string& text, Time now);

}  // namespace keiko
