#include "drivers/sysfs/stats_reader.h"

namespace keiko {
namespace {

constexpr int kMostSensors = 16;

}  // namespace

bool StatsReader::put(const std::string& name, const std::string& file, SysfsUnit unit) {
  const auto number = tree_.number(file, unit.range);
  if (number) stats_.values[name] = static_cast<double>(*number) * unit.scale;
  return number.has_value();
}

void StatsReader::put_labelled(const std::string& folder, const LabelledSensors& sensors) {
  for (int i = 1; i <= kMostSensors; ++i) {
    const std::string stem = folder + "/" + sensors.sensor + std::to_string(i);
    const auto name = sensors.name_of_label.find(tree_.text(stem + "_label").value_or(""));
    if (name == sensors.name_of_label.end()) continue;
    put(name->second, stem + "_input", sensors.unit);
  }
}

void StatsReader::put_largest(const std::string& name, const std::string& folder,
                              const std::string& sensor, SysfsUnit unit) {
  std::optional<int64_t> largest;
  for (int i = 1; i <= kMostSensors; ++i) {
    const auto number =
        tree_.number(folder + "/" + sensor + std::to_string(i) + "_input", unit.range);
    if (number && (!largest || *number > *largest)) largest = number;
  }
  if (largest) stats_.values[name] = static_cast<double>(*largest) * unit.scale;
}

std::vector<std::string> hwmon_folders(const SysfsTree& tree, const std::string& device,
                                       const std::string& name) {
  std::vector<std::string> folders;
  for (const std::string& sensors : tree.names(device + "/hwmon")) {
    const std::string folder = device + "/hwmon/" + sensors;
    if (name.empty() || tree.text(folder + "/name") == name) folders.push_back(folder);
  }
  return folders;
}

}  // namespace keiko
