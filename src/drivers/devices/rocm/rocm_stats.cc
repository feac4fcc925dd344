// Readings of AMD GPUs: the amdgpu driver's files below the PCI device, with their documented units
// (Documentation/gpu/amdgpu/thermal and ras): thousandths of a degree, microwatts, percent, Hz.
#include "base/text.h"
#include "drivers/devices/rocm/rocm_devices.h"
#include "drivers/sysfs/stats_reader.h"

namespace keiko {
namespace {

void read_hwmon(const SysfsTree& tree, const std::string& folder, StatsReader& reader) {
  for (const std::string& sensors : hwmon_folders(tree, folder, "amdgpu")) {
    // The junction is the hottest place of the die; older GPUs have the edge alone.
    reader.put_labelled(sensors, {"temp", kMillidegrees,
                                  {{"edge", "edge_temperature_celsius"},
                                   {"junction", "temperature_celsius"},
                                   {"mem", "memory_temperature_celsius"}}});
    reader.put_labelled(sensors, {"freq", kHertz,
                                  {{"sclk", "sm_clock_mhz"}, {"mclk", "memory_clock_mhz"}}});
    if (!reader.put("power_watts", sensors + "/power1_average", kMicrowatts)) {
      reader.put("power_watts", sensors + "/power1_input", kMicrowatts);
    }
    reader.put("power_limit_watts", sensors + "/power1_cap", kMicrowatts);
  }
}

/// The count after `word` in "ue: 0\nce: 3"; nothing if there is none.
std::optional<int64_t> count_after(const std::string& text, const std::string& word) {
  for (const std::string& line : split(text, '\n')) {
    if (line.rfind(word + ": ", 0) != 0) continue;
    const auto number = parse_whole_number(line.substr(word.size() + 2));
    if (number && *number >= 0 && *number <= kCount.range.most) return number;
  }
  return std::nullopt;
}

/// The sum over the blocks of a GPU that count errors ("umc_err_count" is its memory's). Nothing if
/// none counts, or one of them does not tell: a part of the sum is a wrong number.
std::optional<int64_t> sum_errors(const SysfsTree& tree, const std::string& folder,
                                  const std::string& word) {
  std::optional<int64_t> sum;
  for (const std::string& name : tree.names(folder + "/ras")) {
    if (name.size() < 10 || name.compare(name.size() - 10, 10, "_err_count") != 0) continue;
    const auto text = tree.text(folder + "/ras/" + name);
    const auto count = text ? count_after(*text, word) : std::nullopt;
    if (!count) return std::nullopt;
    sum = sum.value_or(0) + *count;
  }
  return sum;
}

void put_count(DeviceStats& stats, const std::string& name, std::optional<int64_t> count) {
  if (count) stats.values[name] = static_cast<double>(*count);
}

}  // namespace

std::optional<int64_t> uncorrected_errors(const SysfsTree& tree, const std::string& folder) {
  return sum_errors(tree, folder, "ue");
}

DeviceStats read_rocm_stats(const SysfsTree& tree, const RocmGpu& gpu) {
  DeviceStats stats{gpu.device.uuid, {}};
  const std::string& folder = gpu.function.folder;
  if (folder.empty()) return stats;
  StatsReader reader(tree, stats);
  reader.put("memory_total_bytes", folder + "/mem_info_vram_total", kMemoryBytes);
  reader.put("memory_used_bytes", folder + "/mem_info_vram_used", kMemoryBytes);
  reader.put("utilisation_ratio", folder + "/gpu_busy_percent", kPercent);
  reader.put("memory_utilisation_ratio", folder + "/mem_busy_percent", kPercent);
  reader.put("pcie_replays", folder + "/pcie_replay_count", kCount);
  read_hwmon(tree, folder, reader);
  const auto edge = stats.values.find("edge_temperature_celsius");
  if (edge != stats.values.end()) stats.values.emplace("temperature_celsius", edge->second);
  put_count(stats, "ecc_uncorrected_volatile", uncorrected_errors(tree, folder));
  put_count(stats, "ecc_corrected_volatile", sum_errors(tree, folder, "ce"));
  return stats;
}

}  // namespace keiko
