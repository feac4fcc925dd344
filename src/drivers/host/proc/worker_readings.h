// WorkerReadings: what the running workers of an agent use, by their cgroups where these tell, else
// by their processes, and what those hold of devices. Finds the workers by the records that the
// process substrate keeps of them, so it needs to share nothing with the agent's loop. For one
// thread.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "drivers/substrate/process/records.h"
#include "ports/devices.h"
#include "telemetry/reading_source.h"

namespace keiko {

/// Who holds devices now; one that holds several is there for each.
using DeviceHolders = std::function<std::vector<DeviceProcess>()>;

class WorkerReadings : public telemetry::ReadingSource {
 public:
  /// `holders` is asked only while workers run; none: nothing is told of devices.
  explicit WorkerReadings(std::string state_dir, DeviceHolders holders = {})
      : folder_(std::move(state_dir) + "/workers"), holders_(std::move(holders)) {}

  /// RETURNS: no reading of a worker that has not begun to run, or has ended.
  Result<std::vector<Reading>> read() override;

 private:
  std::string folder_;
  DeviceHolders holders_;
};

/// RETURNS: what cgroups in these folders tell, whichever version and controllers they are of.
Values read_worker_groups(const std::vector<std::string>& folders);

/// Adds what processes tell, under names that are not there yet: a group need not count everything.
void add_process_values(const std::vector<int64_t>& pids, Values& values);

/// Adds what these processes hold of devices, as far as all of it is told.
void add_device_values(const std::vector<int64_t>& pids, const std::vector<DeviceProcess>& holders,
                       Values& values);

}  // namespace keiko
