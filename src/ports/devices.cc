#include "ports/devices.h"

#include <algorithm>

#include "base/text.h"

namespace keiko {

namespace {

Result<int32_t> index_of(const Inventory& inventory, const std::string& uuid) {
  const auto device = std::find_if(inventory.devices.begin(), inventory.devices.end(),
                                   [&](const Device& d) { return d.uuid == uuid; });
  if (device != inventory.devices.end()) return device->index;
  return not_found("device " + uuid + " is not on this machine; `keiko devices` lists them");
}

}  // namespace

std::string to_text(FaultKind kind) {
  switch (kind) {
    case FaultKind::kXid: return "xid";
    case FaultKind::kEcc: return "ecc";
    case FaultKind::kLost: return "lost";
  }
  return "unknown";
}

Done check_device_here(const Inventory& inventory, const std::string& uuid) {
  TRY(index_of(inventory, uuid));
  return done();
}

Result<std::string> uuids_in_index_order(const Inventory& inventory,
                                         const std::vector<std::string>& uuids) {
  std::vector<std::pair<int32_t, std::string>> chosen;
  for (const std::string& uuid : uuids) {
    chosen.emplace_back(TRY(index_of(inventory, uuid)), uuid);
  }
  std::sort(chosen.begin(), chosen.end());
  std::vector<std::string> sorted;
  for (const auto& [index, uuid] : chosen) sorted.push_back(uuid);
  return join(sorted, ",");
}

}  // namespace keiko
