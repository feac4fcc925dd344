#include "core/health/device_names.h"

#include <algorithm>
#include <utility>

#include "model/pci_path.h"

namespace keiko::health {
namespace {

/// RETURNS: the address as the kernel writes it; other names as they are.
std::string same_spelling(const std::string& name) {
  PciAddress address;
  return parse_pci_address(name, address) ? to_text(address) : name;
}

bool is_of(const HealthDevice& slice, const std::string& device) {
  return !slice.parent_uuid.empty() && slice.parent_uuid == device;
}

void merge(SubjectState& into, SubjectState&& from) {
  into.conditions.merge(from.conditions);
  into.history.merge(from.history);
  into.app_faults.insert(into.app_faults.end(), from.app_faults.begin(), from.app_faults.end());
  std::sort(into.app_faults.begin(), into.app_faults.end());
  into.probation_until = std::max(into.probation_until, from.probation_until);
  if (from.lemon.at >= into.lemon.at) std::swap(into.lemon, from.lemon);
}

}  // namespace

PhysicalDevice physical_device(const NodeHealth& node, const std::string& name) {
  const std::string spelled = same_spelling(name);
  for (const HealthDevice& device : node.devices) {
    const std::string& whole = device.parent_uuid.empty() ? device.uuid : device.parent_uuid;
    if (device.uuid == name) return {whole, device.gpu_instance};
    const bool address =
        !device.pci_address.empty() && same_spelling(device.pci_address) == spelled;
    if (address || device.parent_uuid == name) return {whole, -1};
  }
  return {spelled, -1};
}

std::vector<HealthSubject> affected(const NodeHealth& node, const HealthSubject& subject,
                                    const Condition& condition) {
  if (subject.kind != HealthSubjectKind::kDevice) return {subject};
  const bool one_slice = condition.scope == FaultScope::kSlice && condition.gpu_instance >= 0;
  std::vector<HealthSubject> slices;
  HealthSubject slice = subject;
  for (const HealthDevice& device : node.devices) {
    if (!is_of(device, subject.name)) continue;
    slice.name = device.uuid;
    if (!one_slice || device.gpu_instance == condition.gpu_instance) slices.push_back(slice);
  }
  // A slice that nobody knows by its number is any of them: then the whole device is meant.
  if (one_slice && !slices.empty()) return slices;
  if (one_slice) return affected(node, subject, Condition{});
  slices.push_back(subject);
  return slices;
}

std::map<HealthSubject, const Condition*> quarantine_of(const NodeHealth& node) {
  std::map<HealthSubject, const Condition*> result;
  const auto add = [&](const HealthSubject& subject, const Condition& condition) {
    const auto [place, fresh] = result.emplace(subject, &condition);
    if (!fresh && condition.remedy > place->second->remedy) place->second = &condition;
  };
  for (const auto& [subject, health] : node.subjects) {
    for (const auto& [id, condition] : health.conditions) {
      if (!rule_of(condition.remedy).quarantine) continue;
      for (const HealthSubject& one : affected(node, subject, condition)) add(one, condition);
      const HealthSubject whole{subject.node, HealthSubjectKind::kNode, {}};
      if (condition.remedy == Remedy::kReboot) add(whole, condition);
    }
  }
  return result;
}

std::vector<HealthSubject> carriers(const NodeHealth& node, const HealthSubject& subject) {
  std::vector<HealthSubject> result{subject};
  if (subject.kind != HealthSubjectKind::kDevice) return result;
  HealthSubject whole = subject;
  whole.name = physical_device(node, subject.name).name;
  if (whole.name != subject.name) result.push_back(whole);
  return result;
}

void take_inventory(HealthState& state, const std::string& node_name,
                    std::vector<HealthDevice> devices) {
  NodeHealth& node = state.nodes[node_name];
  node.devices = std::move(devices);
  std::vector<HealthSubject> known;
  for (const auto& [subject, health] : node.subjects) known.push_back(subject);
  for (const HealthSubject& old : known) {
    if (old.kind != HealthSubjectKind::kDevice) continue;
    HealthSubject fresh = old;
    fresh.name = physical_device(node, old.name).name;
    if (fresh == old) continue;
    auto moved = node.subjects.extract(old);
    merge(node.subjects[fresh], std::move(moved.mapped()));
    for (auto& [id, incident] : state.open) {
      if (incident.subject == old) incident.subject = fresh;
    }
  }
}

}  // namespace keiko::health
