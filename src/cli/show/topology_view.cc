#include "cli/show/topology_view.h"

#include <map>

#include "base/text.h"
#include "cli/show/topology_matrix.h"
#include "cli/show/topology_tree.h"
#include "model/topology.h"
#include "wire/convert.h"

namespace keiko::cli {
namespace {

/// "8 h100", "2 a100, 3 a100-1g.5gb".
std::string devices_text(const NodeSpec& node) {
  std::map<std::string, int> count_of_kind;
  for (const Device& device : node.devices) ++count_of_kind[device.kind];
  std::vector<std::string> pieces;
  for (const auto& [kind, count] : count_of_kind) {
    pieces.push_back(std::to_string(count) + " " + kind);
  }
  return join(pieces, ", ");
}

std::string islands_text(const NodeSpec& node) {
  std::vector<std::string> pieces;
  for (const auto& island : islands(node)) pieces.push_back(ranges_text(island));
  return join(pieces, " | ");
}

/// "8 infiniband 400 Gb/s, 1 ethernet down": NICs that are alike share a piece; bonds are not
/// counted beside their members.
std::string nics_text(const NodeSpec& node) {
  if (!node.host) return "";
  std::vector<std::pair<std::string, int>> counts;
  for (const Nic& nic : node.host->nics) {
    if (!nic.members.empty()) continue;
    const std::string rate = rate_text(nic.megabits_per_s);
    const std::string what = to_text(nic.kind) + (rate.empty() ? "" : " " + rate) +
                             (nic.up ? "" : " down");
    auto known = counts.begin();
    while (known != counts.end() && known->first != what) ++known;
    if (known == counts.end()) counts.emplace_back(what, 1);
    else ++known->second;
  }
  std::vector<std::string> pieces;
  for (const auto& [what, count] : counts) pieces.push_back(std::to_string(count) + " " + what);
  return join(pieces, ", ");
}

std::string label_of(const NodeSpec& node, const std::string& key) {
  const auto found = node.labels.find(key);
  return found == node.labels.end() ? std::string() : found->second;
}

void add_ways(const NodeSpec& node, v1::NodeTopology& out) {
  const auto ways = device_ways(node);
  for (size_t i = 0; i < ways.size(); ++i) {
    for (size_t j = i + 1; j < ways.size(); ++j) {
      const DeviceWay& way = ways[i][j];
      v1::DeviceWay& added = *out.add_device_ways();
      added.set_first(static_cast<int32_t>(i));
      added.set_second(static_cast<int32_t>(j));
      added.set_kind(to_text(way.kind));
      added.set_nearness(to_text(way.nearness));
      if (way.link != nullptr) added.set_megabytes_per_s(way.link->megabytes_per_s);
    }
  }
  const auto rows = nic_nearness(node);
  for (size_t device = 0; device < rows.size(); ++device) {
    for (size_t nic = 0; nic < rows[device].size(); ++nic) {
      v1::NicWay& added = *out.add_nic_ways();
      added.set_device(static_cast<int32_t>(device));
      added.set_nic(node.host->nics[nic].name);
      added.set_nearness(to_text(rows[device][nic]));
    }
  }
}

/// What the node is in a line: devices, islands, and where it stands.
std::string head_text(const NodeSpec& node) {
  std::vector<std::string> pieces;
  if (!node.devices.empty()) pieces.push_back(devices_text(node));
  for (const auto& island : islands(node)) pieces.push_back("island " + ranges_text(island));
  for (const char* const key : {"rack", "zone"}) {
    const std::string value = label_of(node, key);
    if (!value.empty()) pieces.push_back(std::string(key) + " " + value);
  }
  return join(pieces, "; ");
}

}  // namespace

Result<NodeSpec> topology_of(const v1::Node& node) {
  NodeSpec spec;
  spec.name = node.name();
  for (const v1::Device& device : node.devices()) spec.devices.push_back(from_proto(device));
  for (const v1::Link& link : node.links()) spec.links.push_back(TRY(from_proto(link)));
  spec.labels.insert(node.labels().begin(), node.labels().end());
  if (node.has_host()) spec.host = TRY(from_proto(node.host()));
  // Everything here counts on devices that stand at their index.
  for (size_t i = 0; i < spec.devices.size(); ++i) {
    if (spec.devices[i].index == static_cast<int32_t>(i)) continue;
    return invalid_argument("node " + spec.name + " counts its devices in another way than this "
                            "program; use the keiko of the server's version");
  }
  return spec;
}

Table topology_table(const std::vector<NodeSpec>& nodes) {
  Table table{{{"NODE"}, {"RACK"}, {"ZONE"}, {"NUMA", true}, {"DEVICES", false, false, true},
               {"ISLANDS", false, false, true}, {"NICS", false, false, true}},
              {}};
  for (const NodeSpec& node : nodes) {
    const size_t numa = node.host ? node.host->numa.size() : 0;
    table.rows.push_back({node.name, label_of(node, "rack"), label_of(node, "zone"),
                          numa == 0 ? std::string() : std::to_string(numa), devices_text(node),
                          islands_text(node), nics_text(node)});
  }
  return table;
}

std::string topology_page(const NodeSpec& node, const Console& console) {
  std::string out;
  for (const std::string& line : topology_tree(node, head_text(node), console)) out += line + "\n";
  if (!node.host) {
    out += "Its agent tells nothing of NUMA nodes and NICs: it is older, or its log says why.\n";
  }
  const std::string matrix = topology_matrix(node, console);
  return matrix.empty() ? out : out + "\n" + matrix;
}

v1::NodeTopology topology_message(const NodeSpec& node) {
  v1::NodeTopology out;
  out.set_node(node.name);
  out.mutable_labels()->insert(node.labels.begin(), node.labels.end());
  if (node.host) *out.mutable_host() = to_proto(*node.host);
  for (const Device& device : node.devices) *out.add_devices() = to_proto(device);
  add_ways(node, out);
  for (const auto& island : islands(node)) {
    out.add_islands()->mutable_devices()->Assign(island.begin(), island.end());
  }
  return out;
}

}  // namespace keiko::cli
