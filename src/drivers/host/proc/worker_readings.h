// WorkerReadings: what the running workers of an agent use, by their cgroups where these tell, else
// by their processes. Finds the workers by the records that the process substrate keeps of them, so
// it needs to share nothing with the agent's loop. For one thread.
#pragma once

#include <string>
#include <vector>

#include "drivers/substrate/process/records.h"
#include "telemetry/reading_source.h"

namespace keiko {

class WorkerReadings : public telemetry::ReadingSource {
 public:
  explicit WorkerReadings(std::string state_dir) : folder_(std::move(state_dir) + "/workers") {}

  /// RETURNS: no reading of a worker that has not begun to run, or has ended.
  Result<std::vector<Reading>> read() override;

 private:
  std::string folder_;
};

/// RETURNS: what cgroups in these folders tell, whichever version and controllers they are of.
Values read_worker_groups(const std::vector<std::string>& folders);

/// Adds what processes tell, under names that are not there yet: a group need not count everything.
void add_process_values(const std::vector<int64_t>& pids, Values& values);

}  // namespace keiko
