// How much of one stream of output the server keeps. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace keiko::logship {

/// RETURNS: nothing if a log of `size` bytes may take all of `fresh`; else what it takes instead:
/// the part that fits below `limit`, and a line of its own that says that the rest is not kept. The
/// log ends with it. A limit of 0 is none.
std::optional<std::string> cut_at_limit(int64_t size, std::string_view fresh, Bytes limit);

}  // namespace keiko::logship
