#include "drivers/devices/nvml/nvml_processes.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace keiko {
namespace {

using ProcessList = NvmlReturn (*NvmlSymbols::*)(NvmlDevice, uint32_t*, NvmlProcess*);

/// A process table may grow between asking its size and reading it.
constexpr int kTries = 4;
constexpr uint32_t kMostProcesses = 1 << 16;
constexpr uint64_t kMostMemory = uint64_t{1} << 46;

/// RETURNS: the processes that one list has; nothing if the list cannot be told.
std::optional<std::vector<NvmlProcess>> read_list(const NvmlLibrary& library, ProcessList list,
                                                  NvmlDevice handle) {
  std::vector<NvmlProcess> processes(64);
  for (int i = 0; i < kTries; ++i) {
    auto count = static_cast<uint32_t>(processes.size());
    const NvmlReturn answer = library.call(list, handle, &count, processes.data());
    if (answer == kNvmlSuccess && count <= processes.size()) {
      processes.resize(count);
      return processes;
    }
    if (answer != kNvmlInsufficientSize || count > kMostProcesses) return std::nullopt;
    processes.resize(std::max<size_t>(count, processes.size()) * 2);
  }
  return std::nullopt;
}

/// Adds one list. RETURNS: whether it could be read.
bool add_processes(const NvmlLibrary& library, ProcessList list, const NvmlUnit& unit,
                   std::map<int64_t, DeviceProcess>& found) {
  const auto processes = read_list(library, list, unit.handle);
  if (!processes) return false;
  for (const NvmlProcess& process : *processes) {
    const bool elsewhere = unit.is_slice() && process.gpu_instance != kNoInstance &&
                           process.gpu_instance != unit.gpu_instance;
    if (elsewhere || process.pid == 0 || process.pid > INT32_MAX) continue;
    DeviceProcess& entry = found[process.pid];
    entry.pid = process.pid;
    if (process.used_memory < kMostMemory) {
      entry.memory = std::max(entry.memory.value_or(Bytes{}),
                              Bytes{static_cast<int64_t>(process.used_memory)});
    }
  }
  return true;
}

/// RETURNS: what is newer than `since_us`; nothing if that cannot be told.
std::optional<std::vector<NvmlProcessUse>> read_uses(const NvmlLibrary& library,
                                                     NvmlDevice handle, uint64_t since_us) {
  std::vector<NvmlProcessUse> uses(64);
  for (int i = 0; i < kTries; ++i) {
    auto count = static_cast<uint32_t>(uses.size());
    const NvmlReturn answer = library.call(&NvmlSymbols::nvmlDeviceGetProcessUtilization, handle,
                                           uses.data(), &count, since_us);
    if (answer == kNvmlNotFound) return std::vector<NvmlProcessUse>{};
    if (answer == kNvmlSuccess && count <= uses.size()) {
      uses.resize(count);
      return uses;
    }
    if (answer != kNvmlInsufficientSize || count > kMostProcesses) return std::nullopt;
    uses.resize(std::max<size_t>(count, uses.size()) * 2);
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<DeviceProcess>> NvmlProcesses::read(const NvmlUnit& unit) {
  using S = NvmlSymbols;
  ByPid found;
  const bool told =
      add_processes(library_, &S::nvmlDeviceGetComputeRunningProcesses_v3, unit, found) ||
      add_processes(library_, &S::nvmlDeviceGetComputeRunningProcesses_v2, unit, found);
  if (!told) {
    return Error{Code::kUnimplemented,
                 "device " + unit.device.uuid +
                     ": its driver does not tell who uses it; update the driver",
                 {}};
  }
  add_processes(library_, &S::nvmlDeviceGetGraphicsRunningProcesses_v3, unit, found);
  add_processes(library_, &S::nvmlDeviceGetMPSComputeRunningProcesses_v3, unit, found);
  if (!found.empty() && !unit.is_slice()) add_use(unit, found);
  std::vector<DeviceProcess> processes;
  for (const auto& [pid, process] : found) processes.push_back(process);
  return processes;
}

/// The library tells only of those that were busy at all, so the others were not.
void NvmlProcesses::add_use(const NvmlUnit& unit, ByPid& found) {
  const auto known = read_until_us_.find(unit.device.uuid);
  const bool first = known == read_until_us_.end();
  const auto uses = read_uses(library_, unit.handle, first ? 0 : known->second);
  if (!uses) return;
  std::map<int64_t, NvmlProcessUse> newest;
  bool sane = true;
  for (const NvmlProcessUse& use : *uses) {
    sane = sane && use.sm <= 100 && use.timestamp_us <= INT64_MAX;
    NvmlProcessUse& last = newest[use.pid];
    if (use.timestamp_us >= last.timestamp_us) last = use;
  }
  if (!sane) return;
  uint64_t& until = read_until_us_[unit.device.uuid];
  for (const auto& [pid, use] : newest) until = std::max(until, use.timestamp_us);
  if (first) return;  // they may be of a minute ago
  for (auto& [pid, process] : found) {
    const auto use = newest.find(pid);
    process.busy = use == newest.end() ? 0 : use->second.sm / 100.0;
  }
}

}  // namespace keiko
