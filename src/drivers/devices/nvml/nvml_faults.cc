#include "drivers/devices/nvml/nvml_faults.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace keiko {
namespace {

/// Of one drain: a GPU that dies may raise thousands, and the loop has other things to do.
constexpr int kMostEvents = 1'000;

WallTime wall_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()};
}

std::string name_of(const NvmlGpu& gpu) {
  return gpu.product + " at " + (gpu.address.empty() ? gpu.uuid : gpu.address);
}

DeviceFault lost_fault(const std::string& uuid, const std::string& name) {
  return {uuid, FaultKind::kLost, 0, wall_now(),
          "the GPU no longer answers: " + name +
              "; it fell off the bus or was taken out, a reboot brings it back if it is sound"};
}

/// RETURNS: the slice that an event belongs to; null if it belongs to the GPU as a whole.
const NvmlUnit* slice_of(const NvmlMachine& machine, const std::string& gpu_uuid,
                         const NvmlEvent& event) {
  for (const NvmlUnit& unit : machine.units) {
    const bool same_compute = event.compute_instance == kNoInstance ||
                              event.compute_instance == unit.compute_instance;
    if (unit.is_slice() && unit.device.parent_uuid == gpu_uuid &&
        unit.gpu_instance == event.gpu_instance && same_compute) {
      return &unit;
    }
  }
  return nullptr;
}

}  // namespace

NvmlEvents::NvmlEvents(const NvmlLibrary& library) : library_(library) {
  if (!library_.has(&NvmlSymbols::nvmlEventSetFree)) return;  // what cannot be freed is not made
  if (library_.call(&NvmlSymbols::nvmlEventSetCreate, &set_) != kNvmlSuccess) set_ = nullptr;
}

NvmlEvents::~NvmlEvents() {
  if (set_ != nullptr) library_.call(&NvmlSymbols::nvmlEventSetFree, set_);
}

void NvmlEvents::watch(const NvmlMachine& machine) {
  if (set_ == nullptr) return;
  for (const NvmlGpu& gpu : machine.gpus) {
    if (!watched_.emplace(gpu.handle, gpu).second) continue;
    uint64_t wanted = kEventXid | kEventDoubleBitEcc;
    uint64_t supported = 0;
    if (library_.call(&NvmlSymbols::nvmlDeviceGetSupportedEventTypes, gpu.handle, &supported) ==
        kNvmlSuccess) {
      wanted &= supported;  // registering for one that is not fails for all
    }
    if (wanted != 0) {
      library_.call(&NvmlSymbols::nvmlDeviceRegisterEvents, gpu.handle, wanted, set_);
    }
  }
}

DeviceFault NvmlEvents::fault_of(const NvmlMachine& machine, const NvmlEvent& event) const {
  DeviceFault fault;
  fault.kind = event.type == kEventXid ? FaultKind::kXid : FaultKind::kEcc;
  fault.code = fault.kind == FaultKind::kXid ? static_cast<int64_t>(event.code) : 0;
  fault.at = wall_now();
  fault.text = fault.kind == FaultKind::kXid ? "XID " + std::to_string(event.code)
                                             : "an uncorrectable memory error";
  const auto gpu = watched_.find(event.device);
  if (gpu == watched_.end()) {
    fault.text += " on a GPU that nobody watches";
    return fault;
  }
  fault.uuid = gpu->second.uuid;
  fault.text += " on " + name_of(gpu->second);
  if (const NvmlUnit* slice = slice_of(machine, fault.uuid, event); slice != nullptr) {
    fault.uuid = slice->device.uuid;
    fault.text += ", slice " + slice->device.mig_profile;
  }
  return fault;
}

std::vector<DeviceFault> NvmlEvents::drain(const NvmlMachine& machine) {
  std::vector<DeviceFault> faults;
  if (set_ == nullptr) return faults;
  for (int i = 0; i < kMostEvents; ++i) {
    NvmlEvent event{};
    event.gpu_instance = kNoInstance;
    event.compute_instance = kNoInstance;
    const NvmlReturn answer =
        library_.call(&NvmlSymbols::nvmlEventSetWait_v2, set_, &event, uint32_t{0});
    if (answer != kNvmlSuccess) break;
    if ((event.type & (kEventXid | kEventDoubleBitEcc)) == 0) continue;
    faults.push_back(fault_of(machine, event));
  }
  return faults;
}

std::vector<DeviceFault> NvmlPresence::compare(const NvmlMachine& machine) {
  std::vector<DeviceFault> faults;
  std::set<std::string> here;
  for (const NvmlGpu& gpu : machine.gpus) {
    here.insert(gpu.uuid);
    known_[gpu.uuid] = name_of(gpu);
    lost_.erase(gpu.uuid);
  }
  size_t missing = 0;
  for (const auto& [uuid, name] : known_) {
    if (here.count(uuid) != 0) continue;
    ++missing;
    if (lost_.insert(uuid).second) faults.push_back(lost_fault(uuid, name));
  }
  // One that never answered has no UUID; those beyond the known missing ones are of that kind.
  const std::set<std::string> before = std::exchange(silent_, {});
  for (const std::string& sentence : machine.silent) {
    if (missing > 0) {
      --missing;
      continue;
    }
    silent_.insert(sentence);
    if (before.count(sentence) == 0) {
      faults.push_back({"", FaultKind::kLost, 0, wall_now(), "never seen working: " + sentence});
    }
  }
  return faults;
}

std::vector<DeviceFault> NvmlPresence::lose(const NvmlGpu& gpu) {
  if (!lost_.insert(gpu.uuid).second) return {};
  return {lost_fault(gpu.uuid, name_of(gpu))};
}

}  // namespace keiko
