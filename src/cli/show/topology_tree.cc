#include "cli/show/topology_tree.h"

#include <cstdio>
#include <map>

#include "base/text.h"
#include "model/topology.h"

namespace keiko::cli {
namespace {

/// What a line says: a name in colour and the rest.
struct Label {
  std::string name;
  Colour colour = Colour::kPlain;
  std::string rest = {};
};

/// A line with what stands below it.
struct Branch {
  Label label;
  std::vector<Branch> below;
};

/// A step of the PCI bus: what hangs at it and the steps below, in the order they came.
struct Step {
  std::string name;
  std::vector<Label> items;
  std::vector<Step> below;

  Step& child(const std::string& step) {
    for (Step& known : below) {
      if (known.name == step) return known;
    }
    below.push_back({step, {}, {}});
    return below.back();
  }
};

/// What is next to one NUMA node.
struct Neighbourhood {
  Step bus;                         ///< of things whose path is known
  std::vector<Label> others;
};

Label device_label(const Device& device) {
  return {"device " + std::to_string(device.index), Colour::kGreen,
          "  " + device.kind + " " + to_text(device.memory) + "  " + device.pci_address};
}

Label nic_label(const Nic& nic) {
  std::string rest = "  " + to_text(nic.kind);
  const std::string rate = rate_text(nic.megabits_per_s);
  if (!rate.empty()) rest += " " + rate;
  if (!nic.up) rest += " down";
  if (!nic.pci_address.empty()) rest += "  " + nic.pci_address;
  if (!nic.interface.empty() && nic.interface != nic.name) rest += "  " + nic.interface;
  if (!nic.members.empty()) rest += "  of " + join(nic.members, " and ");
  return {nic.name, nic.up ? Colour::kCyan : Colour::kRed, rest};
}

/// "0000:71:00" of "0000:71:00.1".
std::string board_of(const std::string& step) { return step.substr(0, step.rfind('.')); }

/// Whether a step's children are the functions of one board and nothing more.
bool is_one_board(const Step& step) {
  for (const Step& child : step.below) {
    if (!child.below.empty() || board_of(child.name) != board_of(step.below[0].name)) return false;
  }
  return !step.below.empty();
}

/// Adds what is below a step; a bridge gets a line of its own where the ways part.
void add_steps(const Step& step, std::vector<Branch>& out) {
  for (const Label& item : step.items) out.push_back({item, {}});
  for (const Step& child : step.below) {
    const bool parts = child.below.size() > 1 && !is_one_board(child);
    if (!parts) {
      add_steps(child, out);
      continue;
    }
    Branch bridge{{"switch " + child.name}, {}};
    add_steps(child, bridge.below);
    out.push_back(std::move(bridge));
  }
}

std::vector<Branch> branches_of(const Neighbourhood& place) {
  std::vector<Branch> branches;
  for (const Label& label : place.others) branches.push_back({label, {}});
  for (const Step& root : place.bus.below) {
    Branch bridge{{"host bridge " + root.name}, {}};
    add_steps(root, bridge.below);
    branches.push_back(std::move(bridge));
  }
  return branches;
}

/// Devices on no bus, such as cpu slots: those of one kind share a line.
void add_slots(const std::vector<const Device*>& slots,
               std::map<int32_t, Neighbourhood>& places) {
  std::map<std::pair<int32_t, std::string>, std::vector<int32_t>> alike;
  for (const Device* slot : slots) {
    const std::string what = slot->kind + " " + to_text(slot->memory);
    alike[{slot->numa_node, what}].push_back(slot->index);
  }
  for (const auto& [key, indices] : alike) {
    const bool several = indices.size() > 1;
    const std::string name = (several ? "devices " : "device ") + ranges_text(indices);
    places[key.first].others.push_back(
        {name, Colour::kGreen, "  " + key.second + (several ? " each" : "")});
  }
}

void add_item(const PciPlace& place, const Label& label,
              std::map<int32_t, Neighbourhood>& places) {
  Neighbourhood& near = places[place.numa_node];
  if (place.path.steps.empty()) {
    near.others.push_back(label);
    return;
  }
  Step* step = &near.bus;
  for (const std::string& name : place.path.steps) step = &step->child(name);
  step->items.push_back(label);
}

std::map<int32_t, Neighbourhood> neighbourhoods(const NodeSpec& node) {
  std::map<int32_t, Neighbourhood> places;
  if (node.host) {
    for (const NumaNode& numa : node.host->numa) places[numa.index];
  }
  std::vector<const Device*> slots;
  for (const Device& device : node.devices) {
    if (device.pci_address.empty()) slots.push_back(&device);
    else add_item(place_of(node, device), device_label(device), places);
  }
  add_slots(slots, places);
  if (!node.host) return places;
  for (const Nic& nic : node.host->nics) {
    if (nic.members.empty()) add_item(place_of(node, nic), nic_label(nic), places);
  }
  return places;
}

Label numa_label(const NodeSpec& node, int32_t index) {
  if (index < 0) return {"NUMA node unknown", Colour::kBold};
  Label label{"NUMA node " + std::to_string(index), Colour::kBold};
  if (!node.host) return label;
  for (const NumaNode& numa : node.host->numa) {
    if (numa.index != index) continue;
    if (numa.package >= 0) label.rest += "  socket " + std::to_string(numa.package);
    if (!numa.cores.empty()) label.rest += "  cores " + numa.cores;
    label.rest += "  " + to_text(numa.memory);
  }
  return label;
}

class Drawing {
 public:
  explicit Drawing(const Console& console)
      : console_(console),
        room_(console.terminal ? static_cast<size_t>(console.size().width) : SIZE_MAX) {}

  void draw(const Branch& branch) {
    add_line("", branch.label);
    draw_below(branch, "");
  }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  void draw_below(const Branch& branch, const std::string& indent) {
    for (size_t i = 0; i < branch.below.size(); ++i) {
      const bool last = i + 1 == branch.below.size();
      add_line(indent + (last ? "└─ " : "├─ "), branch.below[i].label);
      draw_below(branch.below[i], indent + (last ? "   " : "│  "));
    }
  }

  /// The name is painted after the line was cut, so that no colour is left open.
  void add_line(const std::string& indent, const Label& label) {
    const std::string name = printable(label.name);
    std::string line = shorten(indent + name + printable(label.rest), room_);
    const bool whole = line.compare(0, indent.size() + name.size(), indent + name) == 0;
    if (whole) line.replace(indent.size(), name.size(), console_.paint(label.colour, name));
    lines_.push_back(std::move(line));
  }

  const Console& console_;
  const size_t room_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> topology_tree(const NodeSpec& node, const std::string& head,
                                       const Console& console) {
  Branch whole{{node.name, Colour::kBold, head.empty() ? "" : "  " + head}, {}};
  for (const auto& [index, place] : neighbourhoods(node)) {
    whole.below.push_back({numa_label(node, index), branches_of(place)});
  }
  if (node.host) {
    for (const Nic& nic : node.host->nics) {
      if (!nic.members.empty()) whole.below.push_back({nic_label(nic), {}});
    }
  }
  Drawing drawing(console);
  drawing.draw(whole);
  return drawing.take();
}

std::string ranges_text(const std::vector<int32_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (end > i) text += "-" + std::to_string(numbers[end]);
    i = end + 1;
  }
  return text;
}

std::string rate_text(int64_t megabits_per_s) {
  if (megabits_per_s <= 0) return "";
  if (megabits_per_s < 1000) return std::to_string(megabits_per_s) + " Mb/s";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g Gb/s", static_cast<double>(megabits_per_s) / 1000);
  return text;
}

}  // namespace keiko::cli
