#include "ports/devices.h"

#include <algorithm>

#include "base/text.h"

namespace keiko {

Result<std::string> uuids_in_index_order(const Inventory& inventory,
                                         const std::vector<std::string>& uuids) {
  std::vector<std::pair<int32_t, std::string>> chosen;
  for (const std::string& uuid : uuids) {
    const auto device = std::find_if(inventory.devices.begin(), inventory.devices.end(),
                                     [&](const Device& d) { return d.uuid == uuid; });
    if (device == inventory.devices.end()) {
      return not_found("device " + uuid + " is not on this machine; `keiko devices` lists them");
    }
    chosen.emplace_back(device->index, uuid);
  }
  std::sort(chosen.begin(), chosen.end());
  std::vector<std::string> sorted;
  for (const auto& [index, uuid] : chosen) sorted.push_back(uuid);
  return join(sorted, ",");
}

}  // namespace keiko
