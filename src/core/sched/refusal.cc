#include "core/sched/refusal.h"

#include <algorithm>

namespace keiko::sched {

std::string cores_text(int64_t cpu_milli) {
  std::string text = std::to_string(cpu_milli / 1000);
  if (cpu_milli % 1000 != 0) {
    std::string fraction = std::to_string(1000 + cpu_milli % 1000).substr(1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += "." + fraction;
  }
  return text;
}

namespace {

/// What a node has of one countable thing against what a worker needs.
struct Need {
  std::string clause;
  int64_t has = 0;
  int64_t needs = 0;
  std::string unit;
};

/// The countable needs in the order in which they are checked.
std::vector<Need> needs_on(const Slot& slot, const Shape& shape) {
  int64_t of_kind = 0;
  int64_t large_enough = 0;
  int64_t free = 0;
  int64_t ill = 0;
  const std::vector<Device>& devices = slot.node->spec.devices;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (!shape.device_kind.empty() && devices[i].kind != shape.device_kind) continue;
    ++of_kind;
    if (devices[i].memory < shape.device_memory) continue;
    ++large_enough;
    if (!slot.taken[i]) ++free;
    if (!slot.quarantined.empty() && slot.quarantined[i]) ++ill;
  }
  const std::string count = std::to_string(shape.devices);
  const std::string kind = shape.device_kind.empty() ? "" : shape.device_kind + " ";
  std::vector<Need> needs;
  if (shape.devices > 0) {
    needs.push_back({count + " " + kind + "devices on a node", of_kind, shape.devices, "devices"});
    needs.push_back({count + " " + kind + "devices with " + to_text(shape.device_memory),
                     large_enough, shape.devices, "large enough"});
    needs.push_back({count + " free " + kind + "devices", free, shape.devices,
                     ill == 0 ? "free" : "free and " + std::to_string(ill) + " in quarantine"});
  }
  needs.push_back({cores_text(shape.cpu_milli) + " free cpu", slot.free_cpu_milli, shape.cpu_milli,
                   "milli-cpu free"});
  needs.push_back({to_text(shape.memory) + " free memory", slot.free_memory.count,
                   shape.memory.count, "bytes free"});
  return needs;
}

Clause& clause_named(std::vector<Clause>& clauses, const std::string& name) {
  for (Clause& clause : clauses) {
    if (clause.name == name) return clause;
  }
  clauses.push_back({name, 0, {}});
  return clauses.back();
}

std::string miss_text(const Slot& slot, const Need& need) {
  std::string has = std::to_string(need.has) + " " + need.unit;
  if (need.unit == "milli-cpu free") has = cores_text(need.has) + " cpu free";
  if (need.unit == "bytes free") has = to_text(Bytes{need.has}) + " free";
  return slot.node->spec.name + " has " + has;
}

/// What is ill is told beside the node: a person can do something about it.
std::string miss_text(const Slot& slot, const std::string& refusal) {
  const std::string& name = slot.node->spec.name;
  return refusal == kInQuarantine ? name + ", " + slot.ill : name;
}

}  // namespace

std::string ask_text(const JobSpec& spec) {
  std::string text = std::to_string(spec.workers) + (spec.workers == 1 ? " worker" : " workers");
  if (spec.devices > 0) {
    text += " x " + std::to_string(spec.devices) + (spec.devices == 1 ? " device" : " devices");
    std::string detail = spec.device_kind;
    if (spec.device_memory.count > 0) {
      detail += (detail.empty() ? ">= " : ", >= ") + to_text(spec.device_memory) + " each";
    }
    if (!detail.empty()) text += " (" + detail + ")";
  }
  text += " x " + cores_text(spec.cpu_milli) + " cpu";
  if (spec.memory.count > 0) text += " x " + to_text(spec.memory);
  if (spec.one_node && spec.workers > 1) text += " on one node";
  if (!spec.image.empty()) text += " in an image";
  return text;
}

std::vector<Clause> clauses_of(const PoolView& pool, const Shape& shape) {
  std::vector<Clause> clauses;
  std::vector<int64_t> nearest;  // the best `has` seen per clause
  for (const Slot& slot : pool.slots()) {
    const std::string refusal = node_refusal(slot, shape);
    if (!refusal.empty()) {
      Clause& clause = clause_named(clauses, refusal);
      if (++clause.rejected == 1) clause.nearest = miss_text(slot, refusal);
      continue;
    }
    for (const Need& need : needs_on(slot, shape)) {
      if (need.has >= need.needs) continue;
      Clause& clause = clause_named(clauses, need.clause);
      ++clause.rejected;
      nearest.resize(clauses.size(), -1);
      int64_t& best = nearest[static_cast<size_t>(&clause - clauses.data())];
      if (need.has > best) {
        best = need.has;
        clause.nearest = miss_text(slot, need);
      }
      break;
    }
  }
  return clauses;
}

Room room_for(const PoolView& pool, const Shape& shape, bool one_node, bool empty) {
  Room best;
  for (const std::string& kind : pool.kinds_for(shape)) {
    int64_t total = 0;
    for (size_t i = 0; i < pool.slots().size(); ++i) {
      const int64_t here = empty ? capacity_when_empty(pool.slots()[i], shape, kind)
                                 : pool.capacity(i, shape, kind);
      total = one_node ? std::max(total, here) : total + here;
    }
    if (total > best.workers) best = {std::min<int64_t>(total, kMaxWorkers), kind};
  }
  return best;
}

Verdict not_now(const PoolView& pool, const JobState& job, const Shape& shape) {
  Verdict verdict;
  verdict.fit = Fit::kNotNow;
  verdict.clauses = clauses_of(pool, shape);
  PoolView open = pool;
  for (Slot& slot : open.slots()) slot.reserved = false;
  const Room room = room_for(open, shape, job.spec.one_node, false);
  if (room.workers >= job.spec.workers) {
    verdict.reason = Reason::kBehindOthers;
    verdict.sentence = "it would fit now, but the nodes are kept for a job ahead of it";
    verdict.cured_by = {Cure::kDevicesFreed, Cure::kNodeJoined, Cure::kNodeReturned};
    return verdict;
  }
  verdict.reason = Reason::kWaitingForResources;
  verdict.sentence = "needs " + ask_text(job.spec) + "; " + std::to_string(room.workers) +
                     " of its " + std::to_string(job.spec.workers) + " would fit now";
  verdict.cured_by = {Cure::kDevicesFreed, Cure::kNodeJoined, Cure::kNodeReturned,
                      Cure::kSmallerAsk};
  return verdict;
}

}  // namespace keiko::sched
