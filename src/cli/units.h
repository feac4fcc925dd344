// Sizes and durations as people write them in flags and job files: always with a unit.
#pragma once

#include <string_view>

#include "base/bytes.h"
#include "base/time.h"

namespace keiko::cli {

/// Reads "16GiB" as parse_bytes() does. A bare number could mean anything, so only 0 goes without a
/// unit. RETURNS: kInvalidArgument that says how it is written.
Result<Bytes> read_bytes(std::string_view text);

/// Reads "90s" or "1h30m" as parse_duration() does, under the same rule.
Result<Duration> read_duration(std::string_view text);

}  // namespace keiko::cli
