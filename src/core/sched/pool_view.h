// PoolView: the free capacity of every node during one scheduling pass, with what the pass itself
// has given away so far. Shape: what one worker of a job needs; equal shapes are decided once.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/sched/schedule.h"
#include "core/state/tables.h"

namespace keiko::sched {

/// The part of a job that decides where it can go. Jobs of equal shape get equal answers, but for
/// `workers`.
struct Shape {
  int32_t devices = 0;
  std::string device_kind;
  Bytes device_memory;
  int64_t cpu_milli = 0;
  Bytes memory;
  std::map<std::string, std::string> labels;
  std::set<NodeId> excluded;
  /// Keeps off what is on probation. The placement sets it, and tries again without it.
  bool careful = false;
  bool image = false;  ///< its workers run in an image

  friend auto operator<=>(const Shape&, const Shape&) = default;
};
Shape shape_of(const JobSpec& spec, const std::set<NodeId>& excluded);

/// One node during a pass.
struct Slot {
  const NodeState* node = nullptr;
  std::vector<bool> taken;      ///< by device index
  int32_t free_devices = 0;
  int64_t free_cpu_milli = 0;
  Bytes free_memory;
  std::string avoided;          ///< by PassInput::avoid and why; empty if it is not
  std::string ill;              ///< by PassInput::ill; empty: the node is not in quarantine
  std::vector<bool> quarantined;  ///< by device index; such a device counts as taken
  bool on_probation = false;      ///< the node itself
  std::vector<Doubt> doubts;      ///< by device index; empty if there is none
  int64_t lemon_millionths = 0;   ///< of the node and all of its devices
  bool reserved = false;        ///< kept for a blocked job ahead of the one being placed
  uint32_t version = 0;         ///< grows when capacity changes
};

class PoolView {
 public:
  PoolView(const State& state, const PassInput& input);

  std::vector<Slot>& slots() { return slots_; }
  const std::vector<Slot>& slots() const { return slots_; }

  /// RETURNS: how many workers of `shape`, on devices of `kind` alone, fit on the node now.
  int32_t capacity(size_t slot, const Shape& shape, const std::string& kind) const;

  /// The same for every slot, kept between calls and recomputed where the capacity changed.
  const std::vector<int32_t>& capacities(const Shape& shape, const std::string& kind);

  /// Gives `devices` of the node and the resources of `workers` workers away.
  void take(size_t slot, const Shape& shape, int32_t workers, const std::vector<int32_t>& devices);

  /// RETURNS: the device kinds that a shape may use, one at a time, in name order; one empty kind
  /// for a shape without devices.
  std::vector<std::string> kinds_for(const Shape& shape) const;

  /// Whether anything at all is on probation.
  bool has_probation() const { return has_probation_; }

 private:
  struct Known {
    std::vector<int32_t> capacity;
    std::vector<uint32_t> version;
  };
  std::vector<Slot> slots_;
  std::set<std::string> kinds_;
  bool has_probation_ = false;
  std::map<std::pair<Shape, std::string>, Known> known_;
};

/// RETURNS: whether a device satisfies the shape and is of `kind`.
bool device_matches(const Device& device, const Shape& shape, const std::string& kind);

/// RETURNS: whether the device is free, matches, and may be given to the shape.
bool may_take(const Slot& slot, size_t device, const Shape& shape, const std::string& kind);

/// RETURNS: how many workers of the shape, on devices of `kind` alone, the node could hold if
/// nothing ran on it and it took work; 0 if it lacks a label. What is in quarantine holds none.
int32_t capacity_when_empty(const Slot& slot, const Shape& shape, const std::string& kind);

/// The clause of a node that is in quarantine itself.
inline constexpr const char* kInQuarantine = "node is in quarantine";

/// RETURNS: the name of the first clause that the node fails by its nature or duty, empty if it
/// passes: label, lost, cordoned, draining, avoided, excluded.
std::string node_refusal(const Slot& slot, const Shape& shape);

}  // namespace keiko::sched
