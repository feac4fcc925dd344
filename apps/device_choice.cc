#include "device_choice.h"

#include <array>
#include <utility>

#include "base/id.h"
#include "base/log.h"
#include "drivers/devices/gaudi/gaudi_devices.h"
#include "drivers/devices/intel/intel_devices.h"
#include "drivers/devices/rocm/rocm_devices.h"
#include "drivers/devices/tpu/tpu_devices.h"

namespace keiko::apps {
namespace {

constexpr uint64_t kMostSlots = 1024;

struct DeviceDriver {
  const char* name;
  std::unique_ptr<Devices> (*make)(const DeviceChoice& choice);
};

std::unique_ptr<Devices> make_cpu(const DeviceChoice& choice) {
  return std::make_unique<CpuDevices>(choice.cpu);
}

template <class Driver>
std::unique_ptr<Devices> make_by_sysfs(const DeviceChoice& choice) {
  return std::make_unique<Driver>(choice.sysfs);
}

/// Of accelerators, in the order in which "auto" asks them.
constexpr std::array kAccelerators = {
    DeviceDriver{"nvml", [](const DeviceChoice& choice) -> std::unique_ptr<Devices> {
                   return std::make_unique<NvmlDevices>(choice.nvml);
                 }},
    DeviceDriver{"rocm", &make_by_sysfs<RocmDevices>},
    DeviceDriver{"gaudi", &make_by_sysfs<GaudiDevices>},
    DeviceDriver{"tpu", &make_by_sysfs<TpuDevices>},
    DeviceDriver{"intel", &make_by_sysfs<IntelDevices>},
};

/// The first driver that finds something. Who sets up cpu slots wants cpu slots.
std::unique_ptr<Devices> find_devices(const DeviceChoice& choice) {
  const bool wants_slots = choice.cpu.memory.count > 0 || choice.cpu.links != "none";
  if (wants_slots) return make_cpu(choice);
  for (const DeviceDriver& driver : kAccelerators) {
    std::unique_ptr<Devices> devices = driver.make(choice);
    const Result<Inventory> inventory = devices->fingerprint();
    if (inventory.ok() && !inventory->devices.empty()) return devices;
    // A machine without the library is no surprise; one whose driver is broken is.
    if (!inventory.ok() && inventory.error().code != Code::kNotFound) {
      log_warn("devices_not_found", std::string("driver=") + driver.name + " reason=" +
                                        quote_text(inventory.error().message));
    }
  }
  return make_cpu(choice);
}

}  // namespace

Result<std::unique_ptr<Devices>> make_devices(const DeviceChoice& choice) {
  if (choice.devices == "auto") return find_devices(choice);
  if (choice.devices == "cpu") return make_cpu(choice);
  for (const DeviceDriver& driver : kAccelerators) {
    if (choice.devices == driver.name) return driver.make(choice);
  }
  uint64_t slots = 0;
  if (parse_digits(choice.devices, slots)) {
    if (slots > kMostSlots) {
      return invalid_argument("--devices " + choice.devices + ": expected 0 to " +
                              std::to_string(kMostSlots) + " cpu slots");
    }
    DeviceChoice counted = choice;
    counted.cpu.count = static_cast<int32_t>(slots);
    return make_cpu(counted);
  }
  std::string known = "auto, cpu";
  for (const DeviceDriver& driver : kAccelerators) known += std::string(", ") + driver.name;
  return invalid_argument("--devices " + choice.devices + ": expected " + known +
                          " or a number of cpu slots");
}

}  // namespace keiko::apps
