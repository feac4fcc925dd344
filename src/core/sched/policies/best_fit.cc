// Place: a gang on as few nodes as can hold it, on the tightest of those that can; all or none.
//
// While workers remain: if a node can hold all of them, the one that keeps the least capacity
// afterwards is taken (ties: the stronger links, then fewer incidents in its past, then the lower
// id); else the node that holds the most. Few nodes first, because every node that a gang touches
// is another thing that can fail and another hop for its collectives; tightest next, because what
// is left whole serves larger gangs.
#include <algorithm>
#include <tuple>

#include "core/sched/device_choice.h"
#include "core/sched/policy.h"

namespace keiko::sched {
namespace {

struct Share {
  size_t slot = 0;
  int32_t workers = 0;
  std::vector<int32_t> devices;
};

/// How tight a node is for `workers` workers: what stays free of the dimension that the job uses.
int64_t left_over(const Slot& slot, const Shape& shape, int32_t workers) {
  if (shape.devices > 0) return slot.free_devices - int64_t{shape.devices} * workers;
  return slot.free_cpu_milli - shape.cpu_milli * workers;
}

/// Equally tight nodes whose links are compared; more would cost without changing the answer.
constexpr int kLinkCandidates = 16;

class Gang {
 public:
  Gang(PoolView& pool, const Shape& shape, std::string kind)
      : pool_(pool), shape_(shape), kind_(std::move(kind)) {}

  /// RETURNS: false, with nothing taken, if the gang does not fit.
  bool place(int32_t workers, bool one_node, std::vector<Share>& shares) {
    std::vector<int32_t> capacity = pool_.capacities(shape_, kind_);
    const int64_t total = total_of(capacity, workers);
    if (total < workers) return false;
    for (int32_t remaining = workers; remaining > 0;) {
      const size_t slot = best_slot(capacity, remaining);
      const int32_t share = std::min(remaining, capacity[slot]);
      if (one_node && share < workers) return false;
      capacity[slot] = 0;
      shares.push_back({slot, share, {}});
      remaining -= share;
    }
    for (Share& share : shares) {
      share.devices = choose_devices(pool_.slots()[share.slot], shape_, kind_,
                                     share.workers * shape_.devices);
      pool_.take(share.slot, shape_, share.workers, share.devices);
    }
    return true;
  }

 private:
  static int64_t total_of(const std::vector<int32_t>& capacity, int32_t enough) {
    int64_t total = 0;
    for (const int32_t workers : capacity) {
      total += workers;
      if (total >= enough) break;
    }
    return total;
  }

  size_t best_slot(const std::vector<int32_t>& capacity, int32_t remaining) const {
    size_t largest = 0;
    size_t tightest = capacity.size();
    int64_t least = 0;
    for (size_t i = 0; i < capacity.size(); ++i) {
      if (capacity[i] > capacity[largest]) largest = i;
      if (capacity[i] < remaining) continue;
      const int64_t left = left_over(pool_.slots()[i], shape_, remaining);
      const bool sounder =
          tightest < capacity.size() && left == least &&
          pool_.slots()[i].lemon_millionths < pool_.slots()[tightest].lemon_millionths;
      if (tightest == capacity.size() || left < least || sounder) {
        tightest = i;
        least = left;
      }
    }
    if (tightest == capacity.size()) return largest;
    return shape_.devices * remaining < 2 ? tightest
                                          : best_linked(capacity, remaining, tightest, least);
  }

  size_t best_linked(const std::vector<int32_t>& capacity, int32_t remaining, size_t sound,
                     int64_t least) const {
    size_t best = sound;
    std::pair<int64_t, int64_t> best_score{-1, 0};
    int looked = 0;
    for (size_t i = 0; i < capacity.size() && looked < kLinkCandidates; ++i) {
      const Slot& slot = pool_.slots()[i];
      if (capacity[i] < remaining || left_over(slot, shape_, remaining) != least) continue;
      ++looked;
      const int64_t strength = mean_link_strength(
          slot.node->spec, choose_devices(slot, shape_, kind_, remaining * shape_.devices));
      const std::pair score{strength, -slot.lemon_millionths};
      if (score > best_score) {
        best = i;
        best_score = score;
      }
    }
    return best;
  }

  PoolView& pool_;
  const Shape& shape_;
  std::string kind_;
};

std::vector<Placement> placements_of(const PoolView& pool, const std::vector<Share>& shares,
                                     int32_t devices_per_worker) {
  std::vector<Placement> placements;
  for (const Share& share : shares) {
    const auto step = static_cast<std::ptrdiff_t>(devices_per_worker);
    auto next = share.devices.begin();
    for (int32_t i = 0; i < share.workers; ++i, next += step) {
      placements.push_back({static_cast<int32_t>(placements.size()),
                            pool.slots()[share.slot].node->id,
                            std::vector<int32_t>(next, next + step)});
    }
  }
  return placements;
}

std::string why_there(const PoolView& pool, const std::vector<Share>& shares, const Shape& shape) {
  std::string text = "best fit:";
  int64_t left = 0;
  for (size_t i = 0; i < shares.size() && i < 8; ++i) {
    text += " " + pool.slots()[shares[i].slot].node->spec.name;
  }
  if (shares.size() > 8) text += " and " + std::to_string(shares.size() - 8) + " more";
  for (const Share& share : shares) left += left_over(pool.slots()[share.slot], shape, 0);
  if (shape.devices > 0) text += ", " + std::to_string(left) + " free devices left there";
  return text;
}

/// Work by which a node or device on probation may prove itself: short, or less urgent than most.
bool may_be_lost(const JobSpec& spec) {
  const bool is_short = spec.time_limit > Duration{} && spec.time_limit <= hours(1);
  return is_short || spec.priority < 0;
}

std::optional<JobPlan> place_as(PoolView& pool, const JobState& job, const Shape& shape) {
  for (const std::string& kind : pool.kinds_for(shape)) {
    std::vector<Share> shares;
    if (!Gang(pool, shape, kind).place(job.spec.workers, job.spec.one_node, shares)) continue;
    return JobPlan{job.id, placements_of(pool, shares, shape.devices),
                   why_there(pool, shares, shape)};
  }
  return std::nullopt;
}

class BestFitPolicy final : public PlacePolicy {
 public:
  std::optional<JobPlan> place(PoolView& pool, const JobState& job) const override {
    Shape shape = shape_of(job.spec, job.excluded);
    shape.careful = pool.has_probation() && !may_be_lost(job.spec);
    std::optional<JobPlan> plan = place_as(pool, job, shape);
    if (plan || !shape.careful) return plan;
    shape.careful = false;  // better there than in line
    return place_as(pool, job, shape);
  }

  // Keeps the nodes that need the fewest further workers to end: most free first. What is kept can
  // only gain free capacity, and another set is kept only if it has more, so the job starts at
  // last.
  int32_t reserve(PoolView& pool, const JobState& job) const override {
    const Shape shape = shape_of(job.spec, job.excluded);
    for (const std::string& kind : pool.kinds_for(shape)) {
      std::vector<std::tuple<int64_t, int32_t, size_t>> nodes;  // -free now, -fit when empty, slot
      for (size_t i = 0; i < pool.slots().size(); ++i) {
        if (pool.slots()[i].reserved) continue;
        const Slot& slot = pool.slots()[i];
        if (!node_refusal(slot, shape).empty()) continue;
        const int32_t empty = capacity_when_empty(slot, shape, kind);
        const int32_t least = job.spec.one_node ? job.spec.workers : 1;
        if (empty >= least) nodes.emplace_back(-left_over(slot, shape, 0), -empty, i);
      }
      std::sort(nodes.begin(), nodes.end());
      int64_t total = 0;
      size_t used = 0;
      while (used < nodes.size() && total < job.spec.workers) total -= std::get<1>(nodes[used++]);
      if (total < job.spec.workers) continue;
      for (size_t i = 0; i < used; ++i) {
        Slot& slot = pool.slots()[std::get<2>(nodes[i])];
        slot.reserved = true;
        ++slot.version;
      }
      return static_cast<int32_t>(used);
    }
    return 0;
  }
};

}  // namespace

std::unique_ptr<PlacePolicy> make_best_fit() { return std::make_unique<BestFitPolicy>(); }

}  // namespace keiko::sched
