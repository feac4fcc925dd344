// Link maps as text: the three named shapes, or a list of links.
#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "drivers/devices/cpu/cpu_devices.h"

namespace keiko {
namespace {

// Classes of a shared-memory copy between cores, for the named shapes. Round on purpose: they are
// there for the scheduler to compare, not for a report.
constexpr int64_t kSharedMegabytesPerS = 10'000;
constexpr Duration kSharedLatency = microseconds(1);

Error bad_link(const std::string& piece, const std::string& why) {
  return invalid_argument("link '" + piece + "': " + why +
                          "; write none, ring, full or first-second:kind:MB/s, for example "
                          "0-1:nvlink:50000");
}

Result<LinkKind> parse_kind(const std::string& word, const std::string& piece) {
  std::vector<std::string> names;
  for (const LinkKind kind : {LinkKind::kSystem, LinkKind::kNuma, LinkKind::kPcie,
                              LinkKind::kNvlink, LinkKind::kXgmi, LinkKind::kShared}) {
    if (to_text(kind) == word) return kind;
    names.push_back(to_text(kind));
  }
  const std::string near = nearest_word(word, names);
  return bad_link(piece, "kind '" + word + "' is unknown" +
                             (near.empty() ? "" : ", did you mean " + near + "?"));
}

Result<Link> parse_link(const std::string& piece, int32_t count) {
  const std::vector<std::string> parts = split(piece, ':');
  if (parts.size() != 3) return bad_link(piece, "it has " + std::to_string(parts.size()) +
                                                    " parts between colons, not 3");
  const std::vector<std::string> ends = split(parts[0], '-');
  uint64_t first = 0;
  uint64_t second = 0;
  if (ends.size() != 2 || !parse_digits(ends[0], first) || !parse_digits(ends[1], second)) {
    return bad_link(piece, "'" + parts[0] + "' is not a pair of devices");
  }
  if (first > second) std::swap(first, second);
  if (first == second || second >= static_cast<uint64_t>(count)) {
    return bad_link(piece, "devices are 0 to " + std::to_string(count - 1) + ", two different");
  }
  Link link;
  link.first = static_cast<int32_t>(first);
  link.second = static_cast<int32_t>(second);
  link.kind = TRY(parse_kind(parts[1], piece));
  uint64_t speed = 0;
  if (!parse_digits(parts[2], speed) || speed == 0 || speed > 100'000'000) {
    return bad_link(piece, "'" + parts[2] + "' is not a speed in MB/s");
  }
  link.megabytes_per_s = static_cast<int64_t>(speed);
  return link;
}

Link shared_link(int32_t first, int32_t second) {
  return {first, second, LinkKind::kShared, kSharedMegabytesPerS, kSharedLatency};
}

std::vector<Link> full_map(int32_t count) {
  std::vector<Link> links;
  for (int32_t first = 0; first < count; ++first) {
    for (int32_t second = first + 1; second < count; ++second) {
      links.push_back(shared_link(first, second));
    }
  }
  return links;
}

std::vector<Link> ring_map(int32_t count) {
  std::vector<Link> links;
  for (int32_t first = 0; first < count; ++first) {
    if (first + 1 < count) links.push_back(shared_link(first, first + 1));
    if (first == 0 && count > 2) links.push_back(shared_link(0, count - 1));
  }
  return links;
}

}  // namespace

Result<std::vector<Link>> parse_links(std::string_view text, int32_t count) {
  if (text.empty() || text == "none") return std::vector<Link>{};
  if (text == "full") return full_map(count);
  if (text == "ring") return ring_map(count);
  std::vector<Link> links;
  std::set<std::pair<int32_t, int32_t>> seen;
  for (const std::string& piece : split(text, ',')) {
    const Link link = TRY(parse_link(std::string(trim(piece)), count));
    if (!seen.emplace(link.first, link.second).second) {
      return bad_link(piece, "this pair is linked twice");
    }
    links.push_back(link);
  }
  std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) {
    return std::pair(a.first, a.second) < std::pair(b.first, b.second);
  });
  return links;
}

}  // namespace keiko
