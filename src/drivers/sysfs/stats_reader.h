// StatsReader: turns the kernel's numbers into the readings of one device, unit by unit. A file
// that is missing, torn or beyond what is possible leaves the reading absent. For one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "drivers/sysfs/sysfs_tree.h"
#include "ports/devices.h"

namespace keiko {

/// What a file may tell and what one of it is worth in the reading's own unit.
struct SysfsUnit {
  NumberRange range;
  double scale = 1;
};

constexpr SysfsUnit kPercent{{0, 100}, 0.01};
constexpr SysfsUnit kMillidegrees{{-50'000, 200'000}, 1e-3};
constexpr SysfsUnit kMilliwatts{{0, 5'000'000}, 1e-3};
constexpr SysfsUnit kMicrowatts{{0, 5'000'000'000}, 1e-6};
constexpr SysfsUnit kPowerLimit{{1, 5'000'000'000}, 1e-6};  ///< microwatts; 0 is no limit
constexpr SysfsUnit kMicrojoules{{0, INT64_MAX}, 1e-6};
constexpr SysfsUnit kHertz{{0, 20'000'000'000}, 1e-6};  ///< a reading has megahertz
constexpr SysfsUnit kMegahertz{{0, 20'000}, 1};
constexpr SysfsUnit kMemoryBytes{{0, int64_t{16} << 40}, 1};
constexpr SysfsUnit kCount{{0, int64_t{1} << 48}, 1};

/// Sensors of one kind: "temp1", "temp2", ... and the reading that each label stands for.
struct LabelledSensors {
  std::string sensor;  ///< "temp"
  SysfsUnit unit;
  std::map<std::string, std::string> name_of_label;
};

class StatsReader {
 public:
  StatsReader(const SysfsTree& tree, DeviceStats& stats) : tree_(tree), stats_(stats) {}

  /// Puts the number in `file` under `name`. RETURNS: whether there was one.
  bool put(const std::string& name, const std::string& file, SysfsUnit unit);

  void put_value(const std::string& name, double value) { stats_.values[name] = value; }

  /// Puts what the hwmon sensors of `folder` measure, by their labels.
  void put_labelled(const std::string& folder, const LabelledSensors& sensors);

  /// Puts the largest of "temp1_input", "temp2_input", ... below `folder`.
  void put_largest(const std::string& name, const std::string& folder, const std::string& sensor,
                   SysfsUnit unit);

 private:
  const SysfsTree& tree_;
  DeviceStats& stats_;
};

/// RETURNS: the folders of the device's sensors whose driver calls itself `name`; all of them if
/// `name` is empty.
std::vector<std::string> hwmon_folders(const SysfsTree& tree, const std::string& device,
                                       const std::string& name);

}  // namespace keiko
