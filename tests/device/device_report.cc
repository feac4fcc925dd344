// Prints what the nvml driver says of this machine, a line a fact; run.sh holds it against others.
//
//   device INDEX UUID PCI MEMORY_MIB KIND PARENT    devices in order
//   link FIRST SECOND KIND MEGABYTES_PER_S HEALTHY
//   stat UUID NAME VALUE                            after two readings, 300 ms apart
//   process UUID PID MEMORY_MIB                     -1: not told
//   visible UUID NAME=VALUE                         the environment of a worker with this device
//   hidden NAME=VALUE                               the environment of a worker with none
//   fault UUID KIND CODE TEXT
//
// Usage: device_report [LIBRARY]. It needs the standard library alone, so a compiler is enough.
#include <chrono>
#include <cstdio>
#include <thread>

#include "drivers/devices/nvml/nvml_devices.h"

namespace keiko {
namespace {

void print_inventory(const Inventory& inventory) {
  for (const Device& device : inventory.devices) {
    std::printf("device %d %s %s %lld %s %s\n", device.index, device.uuid.c_str(),
                device.pci_address.c_str(), static_cast<long long>(device.memory.count >> 20),
                device.kind.c_str(), device.parent_uuid.c_str());
  }
  for (const Link& link : inventory.links) {
    std::printf("link %d %d %s %lld %lld\n", link.first, link.second,
                to_text(link.kind).c_str(), static_cast<long long>(link.megabytes_per_s),
                static_cast<long long>(link.healthy_megabytes_per_s));
  }
}

Done print_processes(Devices& devices, const std::string& uuid) {
  const auto processes = devices.processes(uuid);
  if (!processes.ok() && processes.error().code == Code::kUnimplemented) return done();
  if (!processes.ok()) return processes.error();
  for (const DeviceProcess& process : *processes) {
    const int64_t memory = process.memory ? process.memory->count >> 20 : -1;
    std::printf("process %s %lld %lld\n", uuid.c_str(), static_cast<long long>(process.pid),
                static_cast<long long>(memory));
  }
  return done();
}

Done report(Devices& devices) {
  const Inventory inventory = TRY(devices.fingerprint());
  print_inventory(inventory);
  TRY(devices.stats());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (const DeviceStats& stats : TRY(devices.stats())) {
    for (const auto& [name, value] : stats.values) {
      std::printf("stat %s %s %.17g\n", stats.uuid.c_str(), name.c_str(), value);
    }
  }
  for (const Device& device : inventory.devices) {
    TRY(print_processes(devices, device.uuid));
    for (const auto& [name, value] : TRY(devices.visibility({device.uuid}))) {
      std::printf("visible %s %s=%s\n", device.uuid.c_str(), name.c_str(), value.c_str());
    }
  }
  for (const auto& [name, value] : TRY(devices.visibility({}))) {
    std::printf("hidden %s=%s\n", name.c_str(), value.c_str());
  }
  for (const DeviceFault& fault : TRY(devices.faults())) {
    std::printf("fault %s %s %lld %s\n", fault.uuid.c_str(), to_text(fault.kind).c_str(),
                static_cast<long long>(fault.code), fault.text.c_str());
  }
  return done();
}

}  // namespace
}  // namespace keiko

int main(int argc, char** argv) {
  keiko::NvmlDevicesOptions options;
  if (argc > 1) options.library = argv[1];
  keiko::NvmlDevices devices(options);
  const keiko::Done reported = keiko::report(devices);
  if (!reported.ok()) std::fprintf(stderr, "device_report: %s\n", reported.error().text().c_str());
  return reported.ok() ? 0 : 1;
}
