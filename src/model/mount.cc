#include "model/mount.h"

#include "base/text.h"

namespace keiko {

std::string to_text(const Mount& mount) {
  return mount.source + ":" + mount.target + (mount.read_only ? ":ro" : "");
}

Result<Mount> parse_mount(std::string_view text) {
  const std::vector<std::string> parts = split(text, ':');
  const bool whole = parts.size() == 2 || (parts.size() == 3 && parts[2] == "ro");
  if (!whole || parts[0].empty() || parts[1].empty()) {
    return invalid_argument(quote_text(text) + " is not SOURCE:TARGET or SOURCE:TARGET:ro");
  }
  return Mount{parts[0], parts[1], parts.size() == 3};
}

bool is_plain_path(std::string_view path) {
  if (path.empty() || path[0] != '/') return false;
  if (path == "/") return true;
  for (const std::string& step : split(path.substr(1), '/')) {
    if (step.empty() || step == "." || step == "..") return false;
  }
  return true;
}

}  // namespace keiko
