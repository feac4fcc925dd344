// Links between GPUs: NVLink by counting the lanes that reach the other GPU or a common switch, the
// rest by the nearest common ancestor in the PCI tree.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "drivers/devices/nvml/nvml_machine.h"
#include "drivers/devices/nvml/nvml_names.h"

namespace keiko {
namespace {

constexpr uint32_t kByNvlink = 2;  // NVML_P2P_CAPS_INDEX_NVLINK
constexpr uint32_t kP2pWorks = 0;
constexpr int64_t kLeastNvlink = 1'000;  // MB/s; beyond these a speed is nonsense
constexpr int64_t kMostNvlink = 1'000'000;

/// A number of NVLinks: those that carry data now, and those that are there.
struct Lanes {
  int64_t active = 0;
  int64_t present = 0;
};

/// Where the NVLinks of one GPU end.
struct NvlinkEnds {
  std::map<std::string, Lanes> by_address;  ///< of the GPU at the other end
  Lanes to_switch;
  int64_t megabytes_per_s = 0;  ///< of one link and direction
};

/// MB/s of a link and direction by nvmlNvlinkVersion_t, after NVIDIA's data sheets: 20 GB/s for the
/// first generation, 25 for the next three, 50 for the fifth.
int64_t class_of_version(uint32_t version) {
  if (version == 1) return 20'000;
  return version >= 7 && version < 32 ? 50'000 : 25'000;
}

int64_t link_speed(const NvmlLibrary& library, NvmlDevice handle) {
  NvmlField field{};
  field.id = kFieldNvlinkSpeedCommon;
  const NvmlReturn answer =
      library.call(&NvmlSymbols::nvmlDeviceGetFieldValues, handle, 1, &field);
  if (answer == kNvmlSuccess && field.status == kNvmlSuccess) {
    const int64_t told = field.type == kNvmlUnsignedInt ? field.as_unsigned : field.as_long;
    if (told >= kLeastNvlink && told <= kMostNvlink) return told;
  }
  uint32_t version = 0;
  library.call(&NvmlSymbols::nvmlDeviceGetNvLinkVersion, handle, uint32_t{0}, &version);
  return class_of_version(version);
}

NvlinkEnds find_ends(const NvmlLibrary& library, const NvmlMachine& machine, const NvmlGpu& gpu) {
  NvlinkEnds ends;
  for (uint32_t link = 0; link < kMostNvlinks; ++link) {
    uint32_t active = 0;
    if (library.call(&NvmlSymbols::nvmlDeviceGetNvLinkState, gpu.handle, link, &active) !=
            kNvmlSuccess || active > 1) {
      continue;
    }
    NvmlPci remote{};
    const bool told = library.call(&NvmlSymbols::nvmlDeviceGetNvLinkRemotePciInfo_v2, gpu.handle,
                                   link, &remote) == kNvmlSuccess;
    const std::string address = told ? pci_address(remote) : std::string();
    const bool is_gpu =
        told && std::any_of(machine.gpus.begin(), machine.gpus.end(),
                            [&](const NvmlGpu& g) { return g.address == address; });
    uint32_t type = kRemoteIsSwitch;
    library.call(&NvmlSymbols::nvmlDeviceGetNvLinkRemoteDeviceType, gpu.handle, link, &type);
    if (!is_gpu && type != kRemoteIsSwitch) continue;  // a CPU's port, or a GPU of another tenant
    Lanes& lanes = is_gpu ? ends.by_address[address] : ends.to_switch;
    lanes.active += active;
    lanes.present += 1;
  }
  ends.megabytes_per_s = link_speed(library, gpu.handle);
  return ends;
}

/// RETURNS: whether the driver lets the two talk over NVLink; true if it cannot be asked.
bool may_talk(const NvmlLibrary& library, const NvmlGpu& one, const NvmlGpu& two) {
  uint32_t status = kP2pWorks;
  const NvmlReturn answer = library.call(&NvmlSymbols::nvmlDeviceGetP2PStatus, one.handle,
                                         two.handle, kByNvlink, &status);
  return answer != kNvmlSuccess || status == kP2pWorks;
}

LinkKind kind_of_level(uint32_t level) {
  if (level <= 30) return LinkKind::kPcie;  // one board, one switch, or one host bridge
  return level <= 40 ? LinkKind::kNuma : LinkKind::kSystem;
}

/// "/sys/devices/pci0000:3a/...": the host bridge that an address hangs from.
std::string host_bridge(const NvmlPlaces& places, const std::string& address) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(
      places.sys_root + "/bus/pci/devices/" + address, error);
  if (error) return {};
  for (const std::filesystem::path& part : path) {
    if (part.string().starts_with("pci")) return part.string();
  }
  return {};
}

LinkKind kind_by_sysfs(const NvmlUnit& one, const NvmlUnit& two, const NvmlPlaces& places) {
  const std::string bridge = host_bridge(places, one.device.pci_address);
  if (!bridge.empty() && bridge == host_bridge(places, two.device.pci_address)) {
    return LinkKind::kPcie;
  }
  return one.device.numa_node == two.device.numa_node ? LinkKind::kNuma : LinkKind::kSystem;
}

class LinkFinder {
 public:
  LinkFinder(const NvmlLibrary& library, const NvmlMachine& machine, const NvmlPlaces& places)
      : library_(library), machine_(machine), places_(places) {
    for (const NvmlGpu& gpu : machine.gpus) {
      ends_.push_back(find_ends(library, machine, gpu));
      slots_.push_back(slot_speed(gpu));
    }
  }

  Link between(const NvmlUnit& one, const NvmlUnit& two) const {
    Link link;
    link.first = one.device.index;
    link.second = two.device.index;
    // CUDA gives slices neither peer access nor NVLink.
    const bool whole = !one.is_slice() && !two.is_slice();
    if (whole && by_nvlink(one.gpu, two.gpu, link)) return link;
    link.kind = pci_kind(one, two);
    link.megabytes_per_s = std::min(slots_[one.gpu].now, slots_[two.gpu].now);
    link.healthy_megabytes_per_s = std::min(slots_[one.gpu].healthy, slots_[two.gpu].healthy);
    return link;
  }

 private:
  struct SlotSpeed {
    int64_t now = 0;
    int64_t healthy = 0;
  };

  /// The lanes that trained count, the generation does not: an idle GPU lowers it to save power.
  SlotSpeed slot_speed(const NvmlGpu& gpu) const {
    uint32_t generation = 0;
    uint32_t most = 0;
    library_.call(&NvmlSymbols::nvmlDeviceGetMaxPcieLinkGeneration, gpu.handle, &generation);
    library_.call(&NvmlSymbols::nvmlDeviceGetMaxPcieLinkWidth, gpu.handle, &most);
    uint32_t lanes = most;
    library_.call(&NvmlSymbols::nvmlDeviceGetCurrPcieLinkWidth, gpu.handle, &lanes);
    if (lanes == 0 || lanes > most) lanes = most;
    return {pcie_megabytes_per_s(generation, lanes), pcie_megabytes_per_s(generation, most)};
  }

  bool by_nvlink(size_t one, size_t two, Link& link) const {
    Lanes lanes;
    const auto direct = ends_[one].by_address.find(machine_.gpus[two].address);
    if (direct != ends_[one].by_address.end()) {
      lanes = direct->second;
    } else {
      const Lanes& a = ends_[one].to_switch;
      const Lanes& b = ends_[two].to_switch;
      lanes = {std::min(a.active, b.active), std::min(a.present, b.present)};
    }
    if (lanes.active == 0 || !may_talk(library_, machine_.gpus[one], machine_.gpus[two])) {
      return false;
    }
    const int64_t speed = std::min(ends_[one].megabytes_per_s, ends_[two].megabytes_per_s);
    link.kind = LinkKind::kNvlink;
    link.megabytes_per_s = lanes.active * speed;
    link.healthy_megabytes_per_s = lanes.present * speed;
    return true;
  }

  LinkKind pci_kind(const NvmlUnit& one, const NvmlUnit& two) const {
    if (one.gpu == two.gpu) return LinkKind::kPcie;
    uint32_t level = 0;
    const NvmlReturn answer = library_.call(&NvmlSymbols::nvmlDeviceGetTopologyCommonAncestor,
                                            machine_.gpus[one.gpu].handle,
                                            machine_.gpus[two.gpu].handle, &level);
    if (answer == kNvmlSuccess && level <= 50) return kind_of_level(level);
    return kind_by_sysfs(one, two, places_);
  }

  const NvmlLibrary& library_;
  const NvmlMachine& machine_;
  const NvmlPlaces& places_;
  std::vector<NvlinkEnds> ends_;   ///< by GPU
  std::vector<SlotSpeed> slots_;   ///< by GPU
};

}  // namespace

int64_t pcie_megabytes_per_s(uint32_t generation, uint32_t lanes) {
  // A lane and direction after encoding: 8b/10b for the first two, 128b/130b, then FLIT mode.
  static constexpr std::array<int64_t, 7> kLane = {0, 250, 500, 985, 1969, 3938, 7563};
  if (generation >= kLane.size() || lanes > 32) return 0;
  return kLane[generation] * lanes;
}

std::vector<Link> find_links(const NvmlLibrary& library, const NvmlMachine& machine,
                             const NvmlPlaces& places) {
  const LinkFinder finder(library, machine, places);
  std::vector<Link> links;
  for (size_t i = 0; i < machine.units.size(); ++i) {
    for (size_t j = i + 1; j < machine.units.size(); ++j) {
      links.push_back(finder.between(machine.units[i], machine.units[j]));
    }
  }
  return links;
}

}  // namespace keiko
