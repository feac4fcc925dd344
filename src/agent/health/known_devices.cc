#include "agent/health/known_devices.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace keiko::agent {
namespace {

constexpr const char* kFile = "devices";

struct Record {
  std::string boot;
  std::vector<Device> devices;
  std::vector<Link> links;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "boot", s.boot);
    v(2, "devices", s.devices);
    v(3, "links", s.links);
  }
  friend bool operator==(const Record&, const Record&) = default;
};

Record stored_record(const StateFolder& folder) {
  const Result<std::string> bytes = folder.load(kFile);
  if (!bytes.ok()) return {};
  Result<Record> record = decode<Record>(*bytes);
  return record.ok() ? std::move(record).value() : Record{};
}

const Device* find_device(const std::vector<Device>& devices, const std::string& uuid) {
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](const Device& device) { return device.uuid == uuid; });
  return found == devices.end() ? nullptr : &*found;
}

/// Is it a piece of hardware of which nothing answers, under a driver that finds others?
bool is_missing(const Device& known, const std::vector<Device>& found) {
  if (known.pci_address.empty() || find_device(found, known.uuid) != nullptr) return false;
  const bool answers = std::any_of(found.begin(), found.end(), [&](const Device& device) {
    return device.pci_address == known.pci_address;
  });
  const bool driver = std::any_of(found.begin(), found.end(), [&](const Device& device) {
    return device.vendor == known.vendor;
  });
  return driver && !answers;
}

}  // namespace

KnownDevices know_devices(const StateFolder& folder, const std::string& boot, Inventory found) {
  const Record before = stored_record(folder);
  KnownDevices known{std::move(found), {}};
  std::vector<Device>& here = known.inventory.devices;
  const bool all_known = std::all_of(here.begin(), here.end(), [&](const Device& device) {
    return find_device(before.devices, device.uuid) != nullptr;
  });
  if (!boot.empty() && before.boot == boot && all_known) {
    for (const Device& device : before.devices) {
      if (is_missing(device, here)) known.missing.insert(device.uuid);
    }
  }
  if (!known.missing.empty() && known.missing.size() + here.size() == before.devices.size()) {
    known.inventory = {before.devices, before.links};
  } else {
    known.missing.clear();
  }
  Record now{boot, known.inventory.devices, known.inventory.links};
  if (now == before) return known;
  if (const Done stored = folder.store(kFile, encode(now)); !stored.ok()) {
    log_warn("devices_not_stored", stored.error().text());
  }
  return known;
}

}  // namespace keiko::agent
