#include "cli/show/topology_matrix.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "base/text.h"
#include "cli/show/table.h"
#include "model/topology.h"

namespace keiko::cli {
namespace {

constexpr size_t kGap = 2;  // between the columns of a table

/// What may stand in a cell, nearest first.
enum class Reach { kSelf, kShared, kXgmi, kNvlink, kSwitch, kRoot, kNuma, kFar };

struct ReachWords {
  Reach reach;
  const char* code;
  const char* meaning;
  Colour colour;
};

constexpr std::array kReaches = {
    ReachWords{Reach::kSelf, "X", "the device itself", Colour::kDim},
    ReachWords{Reach::kShared, "SHR", "parts of one device", Colour::kGreen},
    ReachWords{Reach::kXgmi, "XGMI", "joined by XGMI", Colour::kGreen},
    ReachWords{Reach::kNvlink, "NV", "joined by NVLink", Colour::kGreen},
    ReachWords{Reach::kSwitch, "PIX", "below one PCIe switch, or on one board", Colour::kCyan},
    ReachWords{Reach::kRoot, "PHB", "below one host bridge", Colour::kPlain},
    ReachWords{Reach::kNuma, "NODE", "over the bridges of one NUMA node", Colour::kYellow},
    ReachWords{Reach::kFar, "SYS", "between NUMA nodes, or nobody knows", Colour::kDim},
};

const ReachWords& words_of(Reach reach) { return kReaches[static_cast<size_t>(reach)]; }

Reach reach_of(Nearness nearness) {
  switch (nearness) {
    case Nearness::kSame: return Reach::kShared;
    case Nearness::kSwitch: return Reach::kSwitch;
    case Nearness::kRoot: return Reach::kRoot;
    case Nearness::kNuma: return Reach::kNuma;
    case Nearness::kFar: return Reach::kFar;
  }
  return Reach::kFar;
}

Reach reach_of(const DeviceWay& way) {
  if (way.kind == LinkKind::kNvlink) return Reach::kNvlink;
  if (way.kind == LinkKind::kXgmi) return Reach::kXgmi;
  return way.kind == LinkKind::kShared ? Reach::kShared : reach_of(way.nearness);
}

std::string gigabytes(int64_t megabytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", static_cast<double>(megabytes) / 1000);
  return text;
}

/// ", 450 GB/s per direction" where links of this kind tell their speed.
std::string speed_text(const NodeSpec& node, LinkKind kind) {
  std::optional<int64_t> least;
  int64_t most = 0;
  for (const Link& link : node.links) {
    if (link.kind != kind || link.megabytes_per_s <= 0) continue;
    least = std::min(least.value_or(link.megabytes_per_s), link.megabytes_per_s);
    most = std::max(most, link.megabytes_per_s);
  }
  if (!least) return "";
  const std::string range = *least == most ? "" : gigabytes(*least) + " to ";
  return ", " + range + gigabytes(most) + " GB/s per direction";
}

/// One column of the matrix with a cell for each device.
struct Lane {
  Column column;
  Row cells;
};

class Matrix {
 public:
  Matrix(const NodeSpec& node, const Console& console) : node_(node), console_(console) {
    for (const Device& device : node_.devices) heads_.push_back("D" + number(device.index));
    add_devices();
    add_nics();
    add_places();
  }

  std::string text() const {
    const size_t room = console_.terminal ? static_cast<size_t>(console_.size().width) : SIZE_MAX;
    std::string out;
    size_t next = 0;
    while (next < lanes_.size()) out += (out.empty() ? "" : "\n") + block(next, room);
    return out + "\n" + legend();
  }

 private:
  static std::string number(int64_t value) { return std::to_string(value); }

  Cell cell(Reach reach) {
    seen_[static_cast<size_t>(reach)] = true;
    return Cell(words_of(reach).code, words_of(reach).colour);
  }

  void add_devices() {
    const auto ways = device_ways(node_);
    for (size_t to = 0; to < ways.size(); ++to) {
      Lane lane{{heads_[to]}, {}};
      for (size_t from = 0; from < ways.size(); ++from) {
        lane.cells.push_back(cell(from == to ? Reach::kSelf : reach_of(ways[from][to])));
      }
      lanes_.push_back(std::move(lane));
    }
  }

  void add_nics() {
    if (!node_.host || node_.host->nics.empty()) return;
    nic_rows_ = nic_nearness(node_);
    for (size_t nic = 0; nic < node_.host->nics.size(); ++nic) {
      Lane lane{{"N" + std::to_string(nic)}, {}};
      for (const auto& row : nic_rows_) lane.cells.push_back(cell(reach_of(row[nic])));
      lanes_.push_back(std::move(lane));
    }
  }

  /// Columns that say of each device which NICs, NUMA node and cores are next to it.
  void add_places() {
    Lane nics{{"NEAREST NIC"}, {}};
    Lane numa{{"NUMA", true}, {}};
    Lane cores{{"CPU AFFINITY"}, {}};
    for (const auto& row : nic_rows_) nics.cells.push_back(nearest_text(row));
    for (const Device& device : node_.devices) {
      const int32_t place = place_of(node_, device).numa_node;
      numa.cells.push_back(place < 0 ? std::string() : number(place));
      cores.cells.push_back(cores_of(place));
    }
    if (node_.host && !node_.host->nics.empty()) lanes_.push_back(std::move(nics));
    lanes_.push_back(std::move(numa));
    if (node_.host && !node_.host->numa.empty()) lanes_.push_back(std::move(cores));
  }

  std::string nearest_text(const std::vector<Nearness>& row) const {
    std::vector<std::string> near;
    for (const int32_t nic : nearest_nics(node_, row)) {
      const bool up = node_.host->nics[static_cast<size_t>(nic)].up;
      near.push_back("N" + number(nic) + (up ? "" : " down"));
    }
    return join(near, ",");
  }

  std::string cores_of(int32_t numa) const {
    if (!node_.host) return "";
    for (const NumaNode& node : node_.host->numa) {
      if (node.index == numa) return node.cores;
    }
    return "";
  }

  static size_t width_of(const Lane& lane) {
    size_t width = display_width(lane.column.title);
    for (const Cell& cell : lane.cells) width = std::max(width, display_width(cell.text));
    return width;
  }

  /// The columns from `next` on that fit; at least one.
  std::string block(size_t& next, size_t room) const {
    Table table{{{" "}}, {}};
    for (const std::string& head : heads_) table.rows.push_back({Cell(head, Colour::kBold)});
    size_t used = 1;
    for (const std::string& head : heads_) used = std::max(used, head.size());
    const size_t first = next;
    for (; next < lanes_.size(); ++next) {
      const Lane& lane = lanes_[next];
      used += kGap + width_of(lane);
      if (next > first && used > room) break;
      table.columns.push_back(lane.column);
      for (size_t row = 0; row < table.rows.size(); ++row) {
        table.rows[row].push_back(lane.cells[row]);
      }
    }
    table.columns.back().shrinks = true;
    return table_text(table, {}, console_);
  }

  std::string legend() const {
    std::vector<std::string> lines;
    for (const ReachWords& words : kReaches) {
      if (!seen_[static_cast<size_t>(words.reach)]) continue;
      std::string meaning = words.meaning;
      if (words.reach == Reach::kXgmi) meaning += speed_text(node_, LinkKind::kXgmi);
      if (words.reach == Reach::kNvlink) meaning += speed_text(node_, LinkKind::kNvlink);
      lines.push_back(padded(words.code) + meaning);
    }
    const size_t nics = node_.host ? node_.host->nics.size() : 0;
    for (size_t i = 0; i < nics; ++i) {
      const Nic& nic = node_.host->nics[i];
      const std::string members = nic.members.empty() ? "" : " of " + join(nic.members, " and ");
      lines.push_back(padded("N" + std::to_string(i)) + printable(nic.name + members) +
                      (nic.up ? "" : ", down"));
    }
    std::string out;
    const size_t room = console_.terminal ? static_cast<size_t>(console_.size().width) : SIZE_MAX;
    for (const std::string& line : lines) {
      out += console_.paint(Colour::kDim, shorten(line, room)) + "\n";
    }
    return out;
  }

  static std::string padded(const std::string& code) {
    return code + std::string(code.size() < 6 ? 6 - code.size() : 1, ' ');
  }

  const NodeSpec& node_;
  const Console& console_;
  std::vector<std::string> heads_;
  std::vector<std::vector<Nearness>> nic_rows_;
  std::vector<Lane> lanes_;
  std::array<bool, kReaches.size()> seen_{};
};

bool tells_something(const NodeSpec& node) {
  if (!node.links.empty()) return true;
  return std::any_of(node.devices.begin(), node.devices.end(),
                     [](const Device& device) { return !device.pci_address.empty(); });
}

}  // namespace

std::string topology_matrix(const NodeSpec& node, const Console& console) {
  return tells_something(node) ? Matrix(node, console).text() : std::string();
}

}  // namespace keiko::cli
