#include "core/sched/device_choice.h"

#include <algorithm>

namespace keiko::sched {
namespace {

/// MB/s per direction of a link whose bandwidth nobody measured: orders kinds, decides no more.
int64_t class_strength(LinkKind kind) {
  switch (kind) {
    case LinkKind::kSystem: return 8'000;
    case LinkKind::kNuma: return 12'000;
    case LinkKind::kPcie: return 25'000;
    case LinkKind::kXgmi: return 100'000;
    case LinkKind::kNvlink: return 200'000;
    case LinkKind::kShared: return 400'000;
  }
  return 0;
}

/// The bandwidth between each two devices of a node in MB/s: the link's own figure, else its kind's
/// class, else that of the system bus.
class LinkMatrix {
 public:
  explicit LinkMatrix(const NodeSpec& node) : count_(node.devices.size()) {
    strength_.assign(count_ * count_, class_strength(LinkKind::kSystem));
    for (size_t a = 0; a < count_; ++a) {
      for (size_t b = 0; b < count_; ++b) {
        if (a != b && node.devices[a].numa_node == node.devices[b].numa_node) {
          strength_[a * count_ + b] = class_strength(LinkKind::kNuma);
        }
      }
    }
    for (const Link& link : node.links) {
      const int64_t value =
          link.megabytes_per_s > 0 ? link.megabytes_per_s : class_strength(link.kind);
      const auto a = static_cast<size_t>(link.first);
      const auto b = static_cast<size_t>(link.second);
      if (a >= count_ || b >= count_) continue;
      strength_[a * count_ + b] = strength_[b * count_ + a] = value;
    }
  }
  int64_t at(int32_t a, int32_t b) const {
    return strength_[static_cast<size_t>(a) * count_ + static_cast<size_t>(b)];
  }

 private:
  size_t count_;
  std::vector<int64_t> strength_;
};

/// Twice the links inside the set less the links cut to free devices outside it.
int64_t set_score(const LinkMatrix& links, const std::vector<int32_t>& free,
                  const std::vector<int32_t>& chosen) {
  int64_t score = 0;
  for (const int32_t a : chosen) {
    for (const int32_t b : free) {
      if (a == b) continue;
      const bool inside = std::find(chosen.begin(), chosen.end(), b) != chosen.end();
      score += inside ? links.at(a, b) : -links.at(a, b);
    }
  }
  return score;
}

std::vector<int32_t> grow_from(const LinkMatrix& links, const std::vector<int32_t>& free,
                               int32_t start, size_t count) {
  std::vector<int32_t> chosen{start};
  while (chosen.size() < count) {
    int32_t best = -1;
    int64_t best_gain = 0;
    for (const int32_t candidate : free) {
      if (std::find(chosen.begin(), chosen.end(), candidate) != chosen.end()) continue;
      int64_t gain = 0;
      for (const int32_t other : free) {
        if (other == candidate) continue;
        const bool inside = std::find(chosen.begin(), chosen.end(), other) != chosen.end();
        gain += inside ? 3 * links.at(candidate, other) : -links.at(candidate, other);
      }
      if (best < 0 || gain > best_gain) {
        best = candidate;
        best_gain = gain;
      }
    }
    chosen.push_back(best);
  }
  return chosen;
}

int64_t lemons_of(const Slot& slot, const std::vector<int32_t>& devices) {
  int64_t sum = 0;
  if (slot.doubts.empty()) return sum;
  for (const int32_t device : devices) {
    sum += slot.doubts[static_cast<size_t>(device)].lemon_millionths;
  }
  return sum;
}

}  // namespace

std::vector<int32_t> choose_devices(const Slot& slot, const Shape& shape, const std::string& kind,
                                    int32_t count) {
  const NodeSpec& node = slot.node->spec;
  std::vector<int32_t> free;
  for (size_t i = 0; i < node.devices.size(); ++i) {
    if (may_take(slot, i, shape, kind)) {
      free.push_back(static_cast<int32_t>(i));
    }
  }
  const auto wanted = static_cast<size_t>(count);
  CHECK(free.size() >= wanted);
  if (wanted == 0 || free.size() == wanted) {
    free.resize(wanted);
    return free;
  }
  const LinkMatrix links(node);
  std::vector<int32_t> best;
  std::pair<int64_t, int64_t> best_score;
  for (const int32_t start : free) {
    std::vector<int32_t> chosen = grow_from(links, free, start, wanted);
    std::sort(chosen.begin(), chosen.end());
    const std::pair score{set_score(links, free, chosen), -lemons_of(slot, chosen)};
    if (best.empty() || score > best_score) {
      best = std::move(chosen);
      best_score = score;
    }
  }
  return best;
}

int64_t mean_link_strength(const NodeSpec& node, const std::vector<int32_t>& devices) {
  if (devices.size() < 2) return 0;
  const LinkMatrix links(node);
  int64_t sum = 0;
  int64_t pairs = 0;
  for (size_t i = 0; i < devices.size(); ++i) {
    for (size_t j = i + 1; j < devices.size(); ++j, ++pairs)
      sum += links.at(devices[i], devices[j]);
  }
  return sum / pairs;
}

}  // namespace keiko::sched
