#include "core/logship/retention.h"

#include <algorithm>

namespace keiko::logship {

std::vector<Removal> plan_removals(std::vector<KeptJob> jobs, const RetentionOptions& options,
                                   Bytes missing) {
  Bytes all;
  for (const KeptJob& job : jobs) all = all + job.size;
  std::erase_if(jobs, [](const KeptJob& job) { return !job.ended; });
  std::sort(jobs.begin(), jobs.end(), [](const KeptJob& a, const KeptJob& b) {
    if (a.since_end != b.since_end) return a.since_end > b.since_end;
    return a.job < b.job;
  });
  std::vector<Removal> removals;
  for (const KeptJob& job : jobs) {
    std::string why;
    if (options.keep.ns > 0 && job.since_end >= options.keep) {
      why = "logs are kept for " + to_text(options.keep) + " after a job's end (--log-keep)";
    } else if (options.total.count > 0 && all > options.total) {
      why = "all logs together took " + to_text(all) + ", and " + to_text(options.total) +
            " are kept (--log-total)";
    } else if (missing.count > 0) {
      why = "the server's disk was nearly full";
    } else {
      continue;
    }
    removals.push_back({job.job, "the output of " + to_text(job.job) + " was removed: " + why});
    all = all - job.size;
    missing = missing - job.size;
  }
  return removals;
}

}  // namespace keiko::logship
