// NetworkReadings: counters of network interfaces and of RDMA ports by the kernel's classes net and
// infiniband. Interfaces of software and those of guests are left out. For one thread.
#pragma once

#include <string>

#include "drivers/sysfs/sysfs_tree.h"
#include "telemetry/reading_source.h"

namespace keiko {

class NetworkReadings : public telemetry::ReadingSource {
 public:
  /// `root` is what holds sys.
  explicit NetworkReadings(const std::string& root) : tree_(root) {}

  Result<std::vector<Reading>> read() override;

 private:
  bool is_hardware(const std::string& folder) const;
  Reading read_nic(const std::string& name) const;
  Reading read_port(const std::string& device, const std::string& port) const;
  void put(Values& values, const char* name, const std::string& file, double scale = 1) const;

  SysfsTree tree_;
};

}  // namespace keiko
