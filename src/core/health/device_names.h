// Who is meant: the kernel's log names PCI addresses, libraries name UUIDs of whole devices or of
// MIG slices. Faults are kept at the physical device; slices follow from the inventory, and so does
// what is in quarantine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/health/health_state.h"

namespace keiko::health {

struct PhysicalDevice {
  std::string name;           ///< UUID of the whole device, or what was given if nobody knows it
  int32_t gpu_instance = -1;  ///< of the slice that was named
};

/// RETURNS: the whole device that a UUID, a slice's UUID or a PCI address means on this node.
PhysicalDevice physical_device(const NodeHealth& node, const std::string& name);

/// RETURNS: the devices that a condition of `subject` takes out of service: for a device itself and
/// its slices, or the one slice that the condition is about; else the subject alone.
std::vector<HealthSubject> affected(const NodeHealth& node, const HealthSubject& subject,
                                    const Condition& condition);

/// RETURNS: everything of the node that takes no new work, with the condition that says so. A node
/// that is to be rebooted takes none either, until nothing asks for the reboot any more.
std::map<HealthSubject, const Condition*> quarantine_of(const NodeHealth& node);

/// RETURNS: the subjects whose conditions count for `subject`: itself and, for a slice, the device
/// that it is part of.
std::vector<HealthSubject> carriers(const NodeHealth& node, const HealthSubject& subject);

/// Gives subjects that were known by their PCI address alone their UUID, now that `devices` says
/// it.
void take_inventory(HealthState& state, const std::string& node, std::vector<HealthDevice> devices);

}  // namespace keiko::health
