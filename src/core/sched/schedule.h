// The scheduler: a state in, a plan and verdicts out. Opinion, where core/state is law: the plan is
// journaled event by event and apply() checks each again, so this room may change daily.
//
// Pure; doubles are allowed in policies because only their choices are journaled.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/state/tables.h"
#include "model/health.h"
#include "model/verdict.h"

namespace keiko::sched {

/// What takes work, but is trusted less than others.
struct Doubt {
  bool on_probation = false;     ///< back from quarantine not long ago
  int64_t lemon_millionths = 0;  ///< incidents, decayed
};

/// What a pass must know beside the durable state.
struct PassInput {
  Time now;
  /// Nodes that take no work at present though nothing durable says so (SLOW, UNREACHABLE, no
  /// connection), with what `why` says of them: "node does not answer".
  std::map<NodeId, std::string> avoid;
  /// What takes no new work as its node's agent says: devices by UUID.
  std::map<NodeId, std::set<HealthSubject>> quarantined;
  /// Nodes that are in quarantine themselves, and what is ill: "3MiB of 1GiB are free".
  std::map<NodeId, std::string> ill;
  std::map<NodeId, std::map<HealthSubject, Doubt>> doubts;
};

/// One job to start: every rank placed.
struct JobPlan {
  JobId job;
  std::vector<Placement> placements;  ///< by rank
  std::string why;                    ///< "best fit: n1 n2, 2 free devices left over, nvlink pairs"
};

/// The outcome of a pass.
struct Plan {
  std::vector<JobPlan> starts;        ///< in the order in which they must be applied
  std::map<JobId, Verdict> verdicts;  ///< of every pending job that does not start
  Time look_again;                    ///< earliest back-off or time-based cure; 0 if none
};

/// One scheduling pass over all pending jobs, by the policy named in the state.
Plan schedule(const State& state, const PassInput& input);

/// Could the job ever run on the nodes there are (lost ones included, if every one of them were
/// free)? RETURNS: kFits, or kNever with the nearest fit; kNotNow with kNoNodes for an empty pool.
Verdict feasibility(const State& state, const JobSpec& spec);

/// Why one job waits now, clause by clause, with what is ahead of it.
Verdict explain(const State& state, JobId job, const PassInput& input);

/// RETURNS: the policies' names, for validating ChangeOptions.
std::vector<std::string> policy_names();

}  // namespace keiko::sched
