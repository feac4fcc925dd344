#include "model/pci_path.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text.h"

namespace keiko {
namespace {

/// Reads between `least` and `most` hexadecimal digits that are all of `text`.
bool parse_hex(std::string_view text, size_t least, size_t most, uint32_t& number) {
  if (text.size() < least || text.size() > most) return false;
  uint32_t value = 0;
  for (const char c : text) {
    uint32_t digit = 0;
    if (c >= '0' && c <= '9') digit = static_cast<uint32_t>(c - '0');
    else if (c >= 'a' && c <= 'f') digit = static_cast<uint32_t>(c - 'a') + 10;
    else if (c >= 'A' && c <= 'F') digit = static_cast<uint32_t>(c - 'A') + 10;
    else return false;
    value = value * 16 + digit;
  }
  number = value;
  return true;
}

std::string hex(uint32_t number, size_t width) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (; number > 0 || text.size() < width; number /= 16) text.insert(0, 1, kDigits[number % 16]);
  return text;
}

/// "pci0000:37", the folder of a host bridge.
bool is_host_bridge(std::string_view step) {
  uint32_t number = 0;
  const size_t colon = step.find(':');
  return step.substr(0, 3) == "pci" && colon != std::string_view::npos &&
         parse_hex(step.substr(3, colon - 3), 4, 8, number) &&
         parse_hex(step.substr(colon + 1), 2, 2, number);
}

}  // namespace

bool parse_pci_address(std::string_view text, PciAddress& address) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view rest = text.substr(colon + 1);  // "3b:00.0"
  if (rest.size() != 7 || rest[2] != ':' || rest[5] != '.') return false;
  PciAddress read;
  if (!parse_hex(text.substr(0, colon), 4, 8, read.domain) ||
      !parse_hex(rest.substr(0, 2), 2, 2, read.bus) ||
      !parse_hex(rest.substr(3, 2), 2, 2, read.slot) ||
      !parse_hex(rest.substr(6, 1), 1, 1, read.function) || read.slot > 31 || read.function > 7) {
    return false;
  }
  address = read;
  return true;
}

std::string to_text(const PciAddress& address) {
  return hex(address.domain, 4) + ":" + hex(address.bus, 2) + ":" + hex(address.slot, 2) + "." +
         hex(address.function, 1);
}

PciPath parse_pci_path(std::string_view folder) {
  PciPath path;
  for (const std::string& step : split(folder, '/')) {
    PciAddress address;
    if (path.steps.empty()) {
      if (is_host_bridge(step)) path.steps.push_back(step);
    } else if (parse_pci_address(step, address)) {
      path.steps.push_back(step);
    } else {
      break;
    }
  }
  if (path.steps.size() < 2) path.steps.clear();
  return path;
}

std::string to_text(Nearness nearness) {
  switch (nearness) {
    case Nearness::kSame: return "same";
    case Nearness::kSwitch: return "switch";
    case Nearness::kRoot: return "root";
    case Nearness::kNuma: return "numa";
    case Nearness::kFar: return "far";
  }
  return "far";
}

Nearness nearness(const PciPlace& one, const PciPlace& two) {
  const std::vector<std::string>& a = one.path.steps;
  const std::vector<std::string>& b = two.path.steps;
  if (!a.empty() && a == b) return Nearness::kSame;
  const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto common = ends.first - a.begin();
  // A root port has one link, so two devices below it share what is at its end.
  if (common >= 2) return Nearness::kSwitch;
  if (common == 1) return Nearness::kRoot;
  return one.numa_node == two.numa_node ? Nearness::kNuma : Nearness::kFar;
}

LinkKind link_kind(Nearness nearness) {
  if (nearness <= Nearness::kRoot) return LinkKind::kPcie;
  return nearness == Nearness::kNuma ? LinkKind::kNuma : LinkKind::kSystem;
}

int64_t pcie_lane_megabytes_per_s(int64_t tenths_gt_per_s, int64_t lanes) {
  // Tenths of GT/s and MB/s of a lane and direction: 8b/10b for the first two generations,
  // 128b/130b for the next three, FLIT mode for the sixth (PCI Express Base Specification 6.0,
  // 4.2).
  static constexpr std::array<std::array<int64_t, 2>, 6> kLanes = {
      {{25, 250}, {50, 500}, {80, 985}, {160, 1969}, {320, 3938}, {640, 7563}}};
  if (lanes < 1 || lanes > 32) return 0;
  for (const auto& [rate, megabytes] : kLanes) {
    if (rate == tenths_gt_per_s) return megabytes * lanes;
  }
  return 0;
}

}  // namespace keiko
