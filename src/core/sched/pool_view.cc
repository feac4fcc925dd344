#include "core/sched/pool_view.h"

#include <algorithm>

namespace keiko::sched {

Shape shape_of(const JobSpec& spec, const std::set<NodeId>& excluded) {
  return {spec.devices,   spec.device_kind, spec.device_memory, spec.cpu_milli,
          spec.memory,    spec.node_labels, excluded,           false,
          !spec.image.empty()};
}

namespace {

/// Takes what is in quarantine out of the slot.
void keep_off(const std::set<HealthSubject>& subjects, Slot& slot) {
  const std::vector<Device>& devices = slot.node->spec.devices;
  slot.quarantined.resize(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    if (!subjects.contains({"", HealthSubjectKind::kDevice, devices[i].uuid})) continue;
    slot.quarantined[i] = true;
    slot.taken[i] = true;
  }
}

/// RETURNS: whether any of it is on probation.
bool take_note(const std::map<HealthSubject, Doubt>& doubts, Slot& slot) {
  bool probation = false;
  const std::vector<Device>& devices = slot.node->spec.devices;
  const auto doubt_of = [&](const HealthSubject& subject) {
    const auto found = doubts.find(subject);
    const Doubt doubt = found == doubts.end() ? Doubt{} : found->second;
    slot.lemon_millionths += doubt.lemon_millionths;
    probation = probation || doubt.on_probation;
    return doubt;
  };
  slot.on_probation = doubt_of(HealthSubject{}).on_probation;
  slot.doubts.resize(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    slot.doubts[i] = doubt_of({"", HealthSubjectKind::kDevice, devices[i].uuid});
  }
  return probation;
}

}  // namespace

PoolView::PoolView(const State& state, const PassInput& input) {
  slots_.reserve(state.nodes.size());
  for (const auto& [id, node] : state.nodes) {
    if (node.forgotten) continue;
    Slot& slot = slots_.emplace_back();
    slot.node = &node;
    slot.taken = node.device_taken;
    slot.taken.resize(node.spec.devices.size());
    if (const auto found = input.quarantined.find(id); found != input.quarantined.end()) {
      keep_off(found->second, slot);
    }
    if (const auto found = input.ill.find(id); found != input.ill.end()) slot.ill = found->second;
    if (const auto found = input.doubts.find(id); found != input.doubts.end()) {
      has_probation_ = take_note(found->second, slot) || has_probation_;
    }
    slot.free_devices =
        static_cast<int32_t>(std::count(slot.taken.begin(), slot.taken.end(), false));
    slot.free_cpu_milli = node.spec.cpu_milli - node.cpu_taken_milli;
    slot.free_memory = node.spec.memory - node.memory_taken;
    if (const auto found = input.avoid.find(id); found != input.avoid.end()) {
      slot.avoided = found->second;
    }
    for (const Device& device : node.spec.devices) kinds_.insert(device.kind);
  }
}

bool device_matches(const Device& device, const Shape& shape, const std::string& kind) {
  return device.kind == kind && device.memory >= shape.device_memory;
}

bool may_take(const Slot& slot, size_t device, const Shape& shape, const std::string& kind) {
  if (slot.taken[device]) return false;
  if (shape.careful && !slot.doubts.empty() && slot.doubts[device].on_probation) return false;
  return device_matches(slot.node->spec.devices[device], shape, kind);
}

namespace {

/// RETURNS: the first label that the node lacks, as "key=value"; empty if it has them all.
std::string missing_label(const NodeSpec& node, const Shape& shape) {
  for (const auto& [key, value] : shape.labels) {
    const auto found = node.labels.find(key);
    if (found == node.labels.end() || found->second != value) return key + "=" + value;
  }
  return {};
}

bool lacks_runtime(const NodeSpec& node, const Shape& shape) {
  return shape.image && node.image_runtime.empty();
}

}  // namespace

int32_t capacity_when_empty(const Slot& slot, const Shape& shape, const std::string& kind) {
  const NodeSpec& node = slot.node->spec;
  if (!missing_label(node, shape).empty() || lacks_runtime(node, shape)) return 0;
  int64_t fits = kMaxWorkers;
  if (shape.cpu_milli > 0) fits = std::min(fits, node.cpu_milli / shape.cpu_milli);
  if (shape.memory.count > 0) fits = std::min(fits, node.memory.count / shape.memory.count);
  if (shape.devices > 0) {
    int64_t matching = 0;
    for (size_t i = 0; i < node.devices.size(); ++i) {
      const bool ill = !slot.quarantined.empty() && slot.quarantined[i];
      if (!ill && device_matches(node.devices[i], shape, kind)) ++matching;
    }
    fits = std::min<int64_t>(fits, matching / shape.devices);
  }
  return static_cast<int32_t>(fits);
}

std::string node_refusal(const Slot& slot, const Shape& shape) {
  const NodeState& node = *slot.node;
  const std::string label = missing_label(node.spec, shape);
  if (!label.empty()) return "label " + label;
  if (lacks_runtime(node.spec, shape)) return "node runs no images";
  if (node.lost) return "node is LOST";
  if (node.draining) return "node is DRAINING";
  if (node.cordoned) return "node is CORDONED";
  if (!slot.avoided.empty()) return slot.avoided;
  if (!slot.ill.empty()) return kInQuarantine;
  if (shape.careful && slot.on_probation) return "node is on probation";
  if (shape.excluded.contains(node.id)) return "suspect of the last fault";
  return {};
}

int32_t PoolView::capacity(size_t index, const Shape& shape, const std::string& kind) const {
  const Slot& slot = slots_[index];
  if (slot.free_devices < shape.devices || slot.reserved) return 0;
  int64_t fits = kMaxWorkers;
  if (shape.cpu_milli > 0) fits = std::min(fits, slot.free_cpu_milli / shape.cpu_milli);
  if (shape.memory.count > 0) fits = std::min(fits, slot.free_memory.count / shape.memory.count);
  if (fits <= 0) return 0;
  if (shape.devices > 0) {
    int64_t matching = 0;
    const std::vector<Device>& devices = slot.node->spec.devices;
    for (size_t i = 0; i < devices.size(); ++i) {
      if (may_take(slot, i, shape, kind)) ++matching;
    }
    fits = std::min(fits, matching / shape.devices);
  }
  if (fits <= 0 || !node_refusal(slot, shape).empty()) return 0;
  return static_cast<int32_t>(fits);
}

const std::vector<int32_t>& PoolView::capacities(const Shape& shape, const std::string& kind) {
  Known& known = known_[{shape, kind}];
  if (known.capacity.empty()) {
    known.capacity.resize(slots_.size());
    known.version.assign(slots_.size(), UINT32_MAX);
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (known.version[i] == slots_[i].version) continue;
    known.version[i] = slots_[i].version;
    known.capacity[i] = capacity(i, shape, kind);
  }
  return known.capacity;
}

void PoolView::take(size_t index, const Shape& shape, int32_t workers,
                    const std::vector<int32_t>& devices) {
  Slot& slot = slots_[index];
  for (const int32_t device : devices) {
    CHECK(!slot.taken[static_cast<size_t>(device)]);
    slot.taken[static_cast<size_t>(device)] = true;
  }
  slot.free_devices -= static_cast<int32_t>(devices.size());
  slot.free_cpu_milli -= shape.cpu_milli * workers;
  slot.free_memory = slot.free_memory - shape.memory * workers;
  ++slot.version;
}

std::vector<std::string> PoolView::kinds_for(const Shape& shape) const {
  if (shape.devices == 0) return {""};
  if (!shape.device_kind.empty()) return {shape.device_kind};
  return {kinds_.begin(), kinds_.end()};
}

}  // namespace keiko::sched
