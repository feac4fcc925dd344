// NodeReadings: what the machine tells of itself by the kernel's own files: cores, memory,
// pressure, disks, and the room on the file system that the agent writes to. For one thread.
#pragma once

#include <optional>
#include <string>

#include "drivers/sysfs/sysfs_tree.h"
#include "telemetry/reading_source.h"

namespace keiko {

class NodeReadings : public telemetry::ReadingSource {
 public:
  /// `root` is what holds proc and sys; `state_dir` the agent's folder, empty: its disk is not
  /// told.
  NodeReadings(const std::string& root, std::string state_dir)
      : tree_(root), state_dir_(std::move(state_dir)) {}

  /// RETURNS: kUnavailable if /proc/stat cannot be read: then nothing else would be true either.
  Result<std::vector<Reading>> read() override;

 private:
  struct CoreTimes {
    double busy = 0;
    double all = 0;
  };
  void read_cores(const std::string& stat, Values& values);
  void read_memory(Values& values) const;
  void read_load(Values& values) const;
  void read_pressure(Values& values) const;
  void read_state_disk(Values& values) const;
  void read_disks(std::vector<Reading>& readings) const;

  SysfsTree tree_;
  std::string state_dir_;
  std::optional<CoreTimes> last_;  ///< of the read before
};

}  // namespace keiko
