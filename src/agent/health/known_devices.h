// Which devices a node has, over restarts of its agent: one that does not answer while an agent
// starts is still the node's, as long as the machine was not booted since. Else the node would
// lose it for good: nobody would look for it again, and the others would change their places.
#pragma once

#include <set>
#include <string>

#include "agent/state_folder.h"
#include "model/device.h"

namespace keiko::agent {

struct KnownDevices {
  Inventory inventory;
  std::set<std::string> missing;  ///< UUIDs of those that do not answer now
};

/// Adds to what was `found` what an earlier agent found in this boot, and keeps the result for the
/// next. A cpu slot is no hardware and is never missed; nor is a slice of a device that was split
/// in another way, nor anything once there is hardware that was not there before.
/// RETURNS: all devices in their places.
KnownDevices know_devices(const StateFolder& folder, const std::string& boot, Inventory found);

}  // namespace keiko::agent
