#include "drivers/devices/rocm/rocm_devices.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <system_error>

#include "base/id.h"
#include "base/text.h"
#include "drivers/devices/rocm/rocm_names.h"

namespace keiko {
namespace {

constexpr char kProcesses[] = "/sys/class/kfd/kfd/proc";

/// ROCr's name of a GPU: 16 hexadecimal digits of what the kernel tells in decimal ones.
std::string serial_uuid(uint64_t unique_id) {
  char text[32];
  std::snprintf(text, sizeof text, "GPU-%016llx", static_cast<unsigned long long>(unique_id));
  return text;
}

/// The serial number that KFD or, where it does not, the PCI device tells; 0 if there is none.
uint64_t serial_number(const SysfsTree& tree, const RocmGpu& gpu) {
  if (gpu.node.properties.count("unique_id") != 0) return gpu.node.property("unique_id");
  const std::string text = tree.text(gpu.function.folder + "/unique_id").value_or("");
  uint64_t serial = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, serial, 16);
  return read.ec == std::errc{} && read.ptr == end ? serial : 0;
}

/// What tells a GPU without a serial number from the others.
std::string place_of(const RocmGpu& gpu) {
  return gpu.device.pci_address.empty() ? std::to_string(gpu.node.gpu_id) : gpu.device.pci_address;
}

/// Several partitions of one GPU may share serial number and address: such names tell nobody apart.
void part_equal_uuids(std::vector<RocmGpu>& gpus) {
  for (RocmGpu& gpu : gpus) {
    const std::string uuid = gpu.device.uuid;
    std::vector<RocmGpu*> equal;
    for (RocmGpu& other : gpus) {
      if (other.device.uuid == uuid) equal.push_back(&other);
    }
    if (equal.size() < 2) continue;
    for (size_t i = 0; i < equal.size(); ++i) {
      equal[i]->device.uuid = uuid + "-" + std::to_string(i);
      equal[i]->device.parent_uuid = uuid;
    }
  }
}

/// The best link that either side tells of; null if there is none.
const KfdLink* link_between(const KfdNode& one, const KfdNode& two) {
  const KfdLink* best = nullptr;
  for (const auto& [from, to] : {std::pair(&one, &two), std::pair(&two, &one)}) {
    for (const KfdLink& link : from->links) {
      if (link.to != to->number) continue;
      const bool better = best == nullptr || (link.kind == kKfdXgmi && best->kind != kKfdXgmi);
      if (better) best = &link;
    }
  }
  return best;
}

/// The CPU node with the lightest link, which is the NUMA node of that number; 0 if none is lighter
/// than the others.
int32_t numa_by_links(const KfdTopology& topology, const KfdNode& gpu) {
  int64_t numa = 0;
  int64_t lightest = INT64_MAX;
  for (const KfdLink& link : gpu.links) {
    const bool to_cpu = std::any_of(
        topology.nodes.begin(), topology.nodes.end(),
        [&](const KfdNode& node) { return node.number == link.to && !node.is_gpu(); });
    if (!to_cpu || link.weight <= 0 || link.weight > lightest) continue;
    numa = link.weight == lightest ? 0 : link.to;
    lightest = link.weight;
  }
  return static_cast<int32_t>(numa);
}

}  // namespace

RocmGpu RocmDevices::describe(const KfdNode& node, size_t place) const {
  RocmGpu gpu;
  gpu.node = node;
  Device& device = gpu.device;
  device.vendor = "amd";
  device.pci_address = pci_address_of(node);
  auto function = read_pci_function(tree_, device.pci_address);
  if (function) gpu.function = std::move(*function);
  const auto on_bus = static_cast<uint64_t>(std::max<int64_t>(gpu.function.device, 0));
  const RocmProduct product =
      product_of(static_cast<int64_t>(node.property("device_id", on_bus)),
                 static_cast<int64_t>(node.property("gfx_target_version")));
  device.kind = product.kind;
  device.product = product.product;
  device.architecture = product.architecture;
  device.memory.count = node.memory_bytes;
  device.driver_version = tree_.text("/sys/module/amdgpu/version").value_or("");
  device.host_megabytes_per_s = gpu.function.healthy_megabytes_per_s;
  device.files = {"/dev/kfd"};
  const uint64_t minor = node.property("drm_render_minor");
  if (minor > 0 && minor < 1'048'576) {
    device.files.push_back("/dev/dri/renderD" + std::to_string(minor));
  }
  const uint64_t serial = serial_number(tree_, gpu);
  device.uuid = serial != 0 ? serial_uuid(serial) : place_uuid("amd", options_, place_of(gpu));
  gpu.rocr_name = serial != 0 ? device.uuid : std::to_string(place);
  return gpu;
}

Result<std::vector<RocmGpu>> RocmDevices::find_gpus() {
  const KfdTopology topology = TRY(read_kfd_topology(tree_));
  std::vector<RocmGpu> gpus;
  for (const KfdNode& node : topology.nodes) {
    if (!node.is_gpu()) continue;
    RocmGpu gpu = describe(node, gpus.size());
    gpu.device.numa_node = gpu.function.place.numa_node >= 0 ? gpu.function.place.numa_node
                                                             : numa_by_links(topology, node);
    gpus.push_back(std::move(gpu));
  }
  // ROCr counts all GPUs in KFD's order, so a name by place holds before they are sorted.
  part_equal_uuids(gpus);
  for (size_t place = 0; place < gpus.size(); ++place) {
    if (!gpus[place].device.parent_uuid.empty()) gpus[place].rocr_name = std::to_string(place);
  }
  std::stable_sort(gpus.begin(), gpus.end(), [](const RocmGpu& a, const RocmGpu& b) {
    PciAddress first;
    PciAddress second;
    parse_pci_address(a.device.pci_address, first);
    parse_pci_address(b.device.pci_address, second);
    return first < second;
  });
  for (size_t i = 0; i < gpus.size(); ++i) gpus[i].device.index = static_cast<int32_t>(i);
  return gpus;
}

std::vector<Link> RocmDevices::links(const std::vector<RocmGpu>& gpus) const {
  std::vector<Link> links;
  for (size_t i = 0; i < gpus.size(); ++i) {
    for (size_t j = i + 1; j < gpus.size(); ++j) {
      Link link = pcie_link(static_cast<int32_t>(i), static_cast<int32_t>(j), gpus[i].function,
                            gpus[j].function);
      const KfdLink* const told = link_between(gpus[i].node, gpus[j].node);
      if (told != nullptr && told->kind == kKfdXgmi) {
        link.kind = LinkKind::kXgmi;
        link.megabytes_per_s = told->megabytes_per_s;
        link.healthy_megabytes_per_s = told->megabytes_per_s;
      }
      links.push_back(link);
    }
  }
  return links;
}

Result<Inventory> RocmDevices::fingerprint() {
  const std::vector<RocmGpu> gpus = TRY(find_gpus());
  Inventory inventory;
  for (const RocmGpu& gpu : gpus) inventory.devices.push_back(gpu.device);
  inventory.links = links(gpus);
  lost_.see(inventory);
  return inventory;
}

Result<std::map<std::string, std::string>> RocmDevices::visibility(
    const std::vector<std::string>& uuids) {
  const std::vector<RocmGpu> gpus = TRY(find_gpus());
  Inventory inventory;
  for (const RocmGpu& gpu : gpus) inventory.devices.push_back(gpu.device);
  for (const std::string& uuid : uuids) TRY(check_device_here(inventory, uuid));
  std::vector<std::string> names;
  std::vector<std::string> places;
  for (const RocmGpu& gpu : gpus) {
    if (std::find(uuids.begin(), uuids.end(), gpu.device.uuid) == uuids.end()) continue;
    places.push_back(std::to_string(names.size()));
    names.push_back(gpu.rocr_name);
  }
  return std::map<std::string, std::string>{
      {"ROCR_VISIBLE_DEVICES", join(names, ",")},
      {"HIP_VISIBLE_DEVICES", places.empty() ? "-1" : join(places, ",")}};
}

Result<std::vector<DeviceStats>> RocmDevices::stats() {
  std::vector<DeviceStats> readings;
  for (const RocmGpu& gpu : TRY(find_gpus())) readings.push_back(read_rocm_stats(tree_, gpu));
  return readings;
}

Result<std::vector<DeviceProcess>> RocmDevices::processes(const std::string& uuid) {
  const std::vector<RocmGpu> gpus = TRY(find_gpus());
  const auto gpu = std::find_if(gpus.begin(), gpus.end(),
                                [&](const RocmGpu& g) { return g.device.uuid == uuid; });
  if (gpu == gpus.end()) return check_device_here({}, uuid).error();
  if (!tree_.exists(kProcesses)) {
    return Error{Code::kUnimplemented,
                 "who holds " + uuid + " cannot be told: " + tree_.full(kProcesses) +
                     " is missing; amdgpu lists processes there since Linux 5.9",
                 {}};
  }
  std::vector<DeviceProcess> processes;
  for (const std::string& name : tree_.names(kProcesses)) {
    uint64_t pid = 0;
    if (!parse_digits(name, pid) || pid == 0) continue;
    const auto bytes = tree_.number(std::string(kProcesses) + "/" + name + "/vram_" +
                                    std::to_string(gpu->node.gpu_id));
    // Every process of the driver has a file for every GPU; one that holds nothing says 0.
    if (bytes && *bytes > 0) processes.push_back({static_cast<int64_t>(pid), Bytes{*bytes}});
  }
  return processes;
}

Result<std::vector<DeviceFault>> RocmDevices::faults() {
  const Inventory inventory = TRY(fingerprint());
  std::vector<DeviceFault> faults = lost_.take();
  for (const Device& device : inventory.devices) {
    const auto function = read_pci_function(tree_, device.pci_address);
    const auto now = function ? uncorrected_errors(tree_, function->folder) : std::nullopt;
    if (!now) continue;
    const auto [last, first_look] = uncorrected_.emplace(device.uuid, *now);
    if (!first_look && *now > last->second) {
      faults.push_back({device.uuid, FaultKind::kEcc, 0, wall_time_now(),
                        std::to_string(*now - last->second) + " memory errors of " + device.kind +
                            " at " + device.pci_address +
                            " were not corrected; results of its job are in doubt"});
    }
    last->second = *now;  // a driver that was loaded again counts from 0
  }
  return faults;
}

}  // namespace keiko
