#include "drivers/devices/nvml/nvml_devices.h"

#include <algorithm>
#include <map>
#include <utility>

namespace keiko {
namespace {

/// Whether an error is the library's state rather than the machine's: then it is opened anew.
bool is_broken(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kFailedPrecondition;
}

}  // namespace

NvmlDevices::NvmlDevices(NvmlDevicesOptions options) : options_(std::move(options)) {}
NvmlDevices::~NvmlDevices() = default;

Done NvmlDevices::open() {
  if (session_) return done();
  auto session = std::make_unique<Session>();
  session->library = TRY(NvmlLibrary::open(options_.library, options_.ignored_functions));
  session->events.emplace(*session->library);
  session->stats.emplace(*session->library, options_.activity_interval);
  session->processes.emplace(*session->library);
  session_ = std::move(session);
  return done();
}

void NvmlDevices::close() {
  if (session_) note(session_->events->drain(session_->machine));
  session_.reset();
}

Done NvmlDevices::look() {
  // A started library never shows a GPU again that it lost.
  if (presence_.any_lost()) close();
  TRY(open());
  note(session_->events->drain(session_->machine));  // they speak of what was, not of what is
  Result<NvmlMachine> machine = find_machine(*session_->library, options_.places);
  if (!machine.ok()) {
    if (is_broken(machine.error())) close();
    return machine.error();
  }
  session_->machine = std::move(machine).value();
  session_->events->watch(session_->machine);
  note(presence_.compare(session_->machine));
  return done();
}

Done NvmlDevices::look_once() {
  if (session_) return done();
  return look();
}

void NvmlDevices::note(std::vector<DeviceFault> faults) {
  for (DeviceFault& fault : faults) faults_.push_back(std::move(fault));
}

Inventory NvmlDevices::inventory() const {
  Inventory inventory;
  for (const NvmlUnit& unit : session_->machine.units) inventory.devices.push_back(unit.device);
  return inventory;
}

Result<Inventory> NvmlDevices::fingerprint() {
  TRY(look());
  Inventory found = inventory();
  found.links = find_links(*session_->library, session_->machine, options_.places);
  return found;
}

Result<const NvmlUnit*> NvmlDevices::find(const std::string& uuid) {
  for (const bool afresh : {false, true}) {
    if (afresh) TRY(look());
    for (const NvmlUnit& unit : session_->machine.units) {
      if (unit.device.uuid != uuid) continue;
      if (!presence_.is_lost(session_->machine.gpus[unit.gpu].uuid)) return &unit;
    }
  }
  return not_found("device " + uuid + " is not on this machine; `keiko devices` lists them");
}

Result<std::map<std::string, std::string>> NvmlDevices::visibility(
    const std::vector<std::string>& uuids) {
  TRY(look_once());
  for (const std::string& uuid : uuids) TRY(find(uuid));
  const std::string list = TRY(uuids_in_index_order(inventory(), uuids));
  return std::map<std::string, std::string>{{"CUDA_VISIBLE_DEVICES", list},
                                            {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
}

Result<std::vector<DeviceStats>> NvmlDevices::stats() {
  TRY(look_once());
  std::vector<DeviceStats> readings;
  for (const NvmlUnit& unit : session_->machine.units) {
    DeviceStats stats{unit.device.uuid, {}};
    if (session_->stats->read(session_->machine, unit, stats) == kNvmlGpuIsLost) {
      note(presence_.lose(session_->machine.gpus[unit.gpu]));
    }
    readings.push_back(std::move(stats));
  }
  return readings;
}

Result<std::vector<DeviceProcess>> NvmlDevices::processes(const std::string& uuid) {
  TRY(look_once());
  const NvmlUnit& unit = *TRY(find(uuid));
  return session_->processes->read(unit);
}

/// Asks each GPU for something that only a living one answers.
Done NvmlDevices::miss_the_lost() {
  uint32_t count = 0;
  const NvmlReturn answer = session_->library->call(&NvmlSymbols::nvmlDeviceGetCount_v2, &count);
  if (answer != kNvmlSuccess) {
    close();
    return nvml_error("count the GPUs", answer);
  }
  const NvmlMachine& machine = session_->machine;
  if (count != machine.gpus.size() + machine.silent.size()) return look();
  for (const NvmlGpu& gpu : machine.gpus) {
    NvmlMemory memory{};
    if (session_->library->call(&NvmlSymbols::nvmlDeviceGetMemoryInfo, gpu.handle, &memory) ==
        kNvmlGpuIsLost) {
      note(presence_.lose(gpu));
    }
  }
  return done();
}

Result<std::vector<DeviceFault>> NvmlDevices::faults() {
  TRY(look_once());
  TRY(miss_the_lost());
  note(session_->events->drain(session_->machine));
  return std::exchange(faults_, {});
}

}  // namespace keiko
