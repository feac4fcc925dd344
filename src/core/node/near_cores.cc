#include "core/node/near_cores.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "model/topology.h"

namespace keiko::node {
namespace {

using Core = std::vector<int32_t>;  // its hardware threads
using Cores = std::vector<Core>;
using NumaCores = std::map<int32_t, Cores>;

/// A core near a worker, and what speaks against it.
struct Candidate {
  bool taken = false;
  bool of_others = false;  ///< part of the share of a device that is not the worker's
  Core threads;
};

Cores cores_of(const NumaNode& numa) {
  Cores cores;
  const std::string& columns = numa.siblings.empty() ? numa.cores : numa.siblings;
  for (const std::string& column : split(columns, ' ')) {
    const std::vector<int32_t> threads = parse_number_list(column);
    if (threads.size() > cores.size()) cores.resize(threads.size());
    for (size_t i = 0; i < threads.size(); ++i) cores[i].push_back(threads[i]);
  }
  return cores;
}

/// RETURNS: the usable cores of each NUMA node that has any.
NumaCores usable_cores_of(const HostSpec& host, const std::vector<int32_t>& usable) {
  const std::set<int32_t> allowed(usable.begin(), usable.end());
  NumaCores found;
  for (const NumaNode& numa : host.numa) {
    Cores cores = cores_of(numa);
    for (Core& core : cores) {
      std::erase_if(core, [&](int32_t thread) { return !allowed.contains(thread); });
    }
    std::erase_if(cores, [](const Core& core) { return core.empty(); });
    if (!cores.empty()) found[numa.index] = std::move(cores);
  }
  return found;
}

bool is_accelerator(const Device& device) { return device.vendor != "cpu"; }

bool is_of(const WorkerLaunch& launch, const Device& device) {
  return std::any_of(launch.devices.begin(), launch.devices.end(),
                     [&](const Device& own) { return own.uuid == device.uuid; });
}

/// RETURNS: the NUMA nodes of the worker's devices; none if one of them is not known to have cores.
std::set<int32_t> numa_nodes_of(const NodeSpec& node, const WorkerLaunch& launch,
                                const NumaCores& cores) {
  std::set<int32_t> near;
  size_t found = 0;
  for (const Device& device : node.devices) {
    if (!is_accelerator(device) || !is_of(launch, device)) continue;
    const int32_t numa = place_of(node, device).numa_node;
    if (!cores.contains(numa)) return {};
    near.insert(numa);
    ++found;
  }
  return found == launch.devices.size() ? near : std::set<int32_t>{};
}

/// Whether the share of one of the worker's devices reaches over the core at `place` of `count`.
/// With more devices than cores several devices share one.
bool is_own_share(size_t place, size_t count, const std::vector<bool>& own_devices) {
  const size_t devices = own_devices.size();
  for (size_t k = 0; k < devices; ++k) {
    const size_t first = k * count / devices;
    const size_t end = std::max(first + 1, (k + 1) * count / devices);
    if (own_devices[k] && first <= place && place < end) return true;
  }
  return false;
}

std::vector<Candidate> candidates(const NodeSpec& node, const WorkerLaunch& launch,
                                  const std::pair<const int32_t, Cores>& numa,
                                  const std::set<int32_t>& taken) {
  std::vector<bool> own_devices;
  for (const Device& device : node.devices) {
    if (!is_accelerator(device) || place_of(node, device).numa_node != numa.first) continue;
    own_devices.push_back(is_of(launch, device));
  }
  std::vector<Candidate> found;
  for (size_t place = 0; place < numa.second.size(); ++place) {
    const Core& core = numa.second[place];
    const bool used = std::any_of(core.begin(), core.end(),
                                  [&](int32_t thread) { return taken.contains(thread); });
    found.push_back({used, !is_own_share(place, numa.second.size(), own_devices), core});
  }
  return found;
}

}  // namespace

std::vector<int32_t> near_cores(const NodeSpec& node, const std::vector<int32_t>& usable,
                                const WorkerLaunch& launch, const std::set<int32_t>& taken) {
  if (!node.host || launch.devices.empty()) return {};
  const NumaCores numa_cores = usable_cores_of(*node.host, usable);
  if (numa_cores.size() < 2) return {};
  std::vector<Candidate> near;
  const std::set<int32_t> numa_nodes = numa_nodes_of(node, launch, numa_cores);
  for (const int32_t numa : numa_nodes) {
    const auto found = candidates(node, launch, *numa_cores.find(numa), taken);
    near.insert(near.end(), found.begin(), found.end());
  }
  size_t wanted = 0;
  for (const Candidate& one : near) wanted += one.of_others ? 0 : one.threads.size();
  const auto asked = static_cast<size_t>(std::max<int64_t>(launch.cpu_milli + 999, 0) / 1000);
  wanted = std::max(wanted, asked);

  std::stable_sort(near.begin(), near.end(), [](const Candidate& one, const Candidate& two) {
    if (one.taken != two.taken) return two.taken;
    return !one.of_others && two.of_others;
  });
  std::vector<int32_t> chosen;
  for (const Candidate& one : near) {
    if (chosen.size() >= wanted) break;
    chosen.insert(chosen.end(), one.threads.begin(), one.threads.end());
  }
  if (chosen.size() < wanted) return {};
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace keiko::node
