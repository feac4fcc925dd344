#include "core/logship/stream_limit.h"

#include <algorithm>

namespace keiko::logship {

std::optional<std::string> cut_at_limit(int64_t size, std::string_view fresh, Bytes limit) {
  const int64_t room = std::max<int64_t>(limit.count - size, 0);
  if (limit.count <= 0 || static_cast<int64_t>(fresh.size()) <= room) return std::nullopt;
  std::string text(fresh.substr(0, static_cast<size_t>(room)));
  // Whether what is there already ends its line is not known; an empty line is no harm.
  if (!text.ends_with('\n') && size + room > 0) text += "\n";
  return text + "[keiko: output over " + to_text(limit) +
         " was dropped here: the server keeps no more of one stream (--log-stream)]\n";
}

}  // namespace keiko::logship
