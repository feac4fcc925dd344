#include "drivers/host/hwloc/hwloc_host.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "drivers/host/hwloc/nics.h"
#include "drivers/sysfs/pci_function.h"

namespace keiko {
namespace {

/// Base classes of what the scheduler places or what carries its traffic: network, display,
/// processor, accelerator (PCI Code and ID Assignment Specification).
bool has_a_slot(int64_t base_class) {
  return base_class == 0x02 || base_class == 0x03 || base_class == 0x0b || base_class == 0x12;
}

std::vector<PciSlot> read_slots(const SysfsTree& tree, const std::vector<Nic>& nics) {
  std::vector<PciFunction> functions;
  for (const std::string& address : tree.names("/sys/bus/pci/devices")) {
    const std::string folder = "/sys/bus/pci/devices/" + address;
    const auto pci_class = tree.number(folder + "/class", {0, 0xffffff});
    const bool carries_nic = std::any_of(nics.begin(), nics.end(), [&](const Nic& nic) {
      return nic.pci_address == address;
    });
    const bool wanted = carries_nic || (pci_class && has_a_slot(*pci_class >> 16));
    if (!wanted || tree.exists(folder + "/physfn")) continue;
    auto function = read_pci_function(tree, address);
    if (function) functions.push_back(std::move(*function));
  }
  std::sort(functions.begin(), functions.end(), in_pci_order);
  std::vector<PciSlot> slots;
  for (const PciFunction& function : functions) {
    slots.push_back({join(function.place.path.steps, "/"), function.place.numa_node});
  }
  return slots;
}

}  // namespace

HwlocHost::HwlocHost(const std::string& root) : tree_(root) {
  Result<CpuLayout> cpus = read_cpu_layout(root);
  if (cpus.ok()) cpus_ = std::move(*cpus);
  else log_warn("numa_unknown", "reason=" + quote_text(cpus.error().message));
}

Result<HostSpec> HwlocHost::fingerprint() {
  HostSpec spec;
  spec.packages = cpus_.packages;
  spec.numa = cpus_.numa;
  spec.nics = read_nics(tree_);
  spec.slots = read_slots(tree_, spec.nics);
  return spec;
}

}  // namespace keiko
