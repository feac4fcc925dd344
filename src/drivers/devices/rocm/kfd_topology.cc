#include "drivers/devices/rocm/kfd_topology.h"

#include "base/id.h"
#include "model/pci_path.h"

namespace keiko {
namespace {

constexpr char kFolder[] = "/sys/class/kfd/kfd/topology";
/// The topology moves when a GPU comes or goes, not all the time.
constexpr int kMostAttempts = 5;
constexpr int64_t kMostMemory = int64_t{16} << 40;
constexpr int64_t kMostMegabytesPerS = 10'000'000;
/// HSA_MEM_HEAP_TYPE_FB_PUBLIC and _FB_PRIVATE: memory of the device that the host may or may not
/// reach.
constexpr int64_t kHeapPublic = 1;
constexpr int64_t kHeapPrivate = 2;

std::map<std::string, uint64_t> read_properties(const SysfsTree& tree, const std::string& path) {
  std::map<std::string, uint64_t> properties;
  const auto text = tree.text(path);
  if (!text) return properties;
  for (auto& [name, value] : parse_properties(*text)) properties.emplace(name, value);
  return properties;
}

/// RETURNS: the property if it is between 0 and `most`, else `fallback`.
int64_t bounded(const std::map<std::string, uint64_t>& properties, const std::string& name,
                int64_t most, int64_t fallback) {
  const auto found = properties.find(name);
  if (found == properties.end() || found->second > static_cast<uint64_t>(most)) return fallback;
  return static_cast<int64_t>(found->second);
}

/// The sum over the banks of the device's own memory; 0 if any bank does not tell, since a part of
/// the memory is a wrong number.
int64_t read_memory(const SysfsTree& tree, const KfdNode& node, const std::string& folder) {
  const std::vector<std::string> banks = tree.names(folder + "/mem_banks");
  const auto expected = static_cast<size_t>(bounded(node.properties, "mem_banks_count", 64, 0));
  if (banks.empty() || banks.size() != expected) return 0;
  int64_t sum = 0;
  for (const std::string& bank : banks) {
    const auto properties = read_properties(tree, folder + "/mem_banks/" + bank + "/properties");
    const int64_t heap = bounded(properties, "heap_type", 64, -1);
    const int64_t size = bounded(properties, "size_in_bytes", kMostMemory, -1);
    if (heap < 0 || size < 0) return 0;
    if (heap == kHeapPublic || heap == kHeapPrivate) sum += size;
  }
  return sum <= kMostMemory ? sum : 0;
}

/// "io_links" are those of the hardware, "p2p_links" the ways over PCIe that newer kernels add.
void read_links(const SysfsTree& tree, const std::string& folder, std::vector<KfdLink>& links) {
  for (const std::string& name : tree.names(folder)) {
    const auto properties = read_properties(tree, folder + "/" + name + "/properties");
    KfdLink link;
    link.kind = bounded(properties, "type", 255, -1);
    link.to = bounded(properties, "node_to", 4095, -1);
    if (link.kind < 0 || link.to < 0) continue;
    link.weight = bounded(properties, "weight", 1'000'000, 0);
    link.megabytes_per_s = bounded(properties, "max_bandwidth", kMostMegabytesPerS, 0);
    links.push_back(link);
  }
}

/// RETURNS: nothing for a node that this process may not see, as in a container.
std::optional<KfdNode> read_node(const SysfsTree& tree, const std::string& name) {
  uint64_t number = 0;
  if (!parse_digits(name, number) || number > 4095) return std::nullopt;
  const std::string folder = std::string(kFolder) + "/nodes/" + name;
  const auto gpu_id = tree.number(folder + "/gpu_id", {0, UINT32_MAX});
  KfdNode node;
  node.properties = read_properties(tree, folder + "/properties");
  if (!gpu_id || node.properties.empty()) return std::nullopt;
  node.number = static_cast<int64_t>(number);
  node.gpu_id = *gpu_id;
  node.name = tree.text(folder + "/name").value_or("");
  node.memory_bytes = read_memory(tree, node, folder);
  read_links(tree, folder + "/io_links", node.links);
  read_links(tree, folder + "/p2p_links", node.links);
  return node;
}

}  // namespace

uint64_t KfdNode::property(const std::string& property_name, uint64_t fallback) const {
  const auto found = properties.find(property_name);
  return found == properties.end() ? fallback : found->second;
}

Result<KfdTopology> read_kfd_topology(const SysfsTree& tree) {
  const std::string generation_file = std::string(kFolder) + "/generation_id";
  KfdTopology topology;
  if (!tree.exists(kFolder)) return topology;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    const auto before = tree.number(generation_file);
    topology = {};
    for (const std::string& name : tree.names(std::string(kFolder) + "/nodes")) {
      auto node = read_node(tree, name);
      if (node) topology.nodes.push_back(std::move(*node));
    }
    const auto after = tree.number(generation_file);
    if (!before || before != after) continue;
    topology.generation = *after;
    return topology;
  }
  return unavailable("the GPUs in " + tree.full(kFolder) + " changed in each of " +
                     std::to_string(kMostAttempts) +
                     " readings, or generation_id cannot be read; look for amdgpu resets in dmesg");
}

std::string pci_address_of(const KfdNode& node) {
  // location_id is bus << 8 | slot << 3 | function; bits above belong to partitions of one GPU.
  if (node.properties.count("location_id") == 0) return {};
  const uint64_t location = node.property("location_id");
  const uint64_t domain = node.property("domain");
  if (domain > UINT32_MAX) return {};
  PciAddress address;
  address.domain = static_cast<uint32_t>(domain);
  address.bus = (location >> 8) & 0xff;
  address.slot = (location >> 3) & 0x1f;
  address.function = location & 0x7;
  return to_text(address);
}

}  // namespace keiko
