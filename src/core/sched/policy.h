// The plug points of scheduling. A policy is a thought: pure, const values in, a value with a
// reason out. Each point says when it is called and what it may return.
//
//   order   before a pass: which of two pending jobs is looked at first
//   place   for each job in that order: where its gang would go on what is free now
//   reserve for a job that place() could not serve: which nodes to keep for it, so that jobs behind
//           it may run elsewhere but cannot starve it
//
// Filters common to all policies (duty, labels, kinds, resources) sit in pool_view.h, because the
// law checks the same again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/sched/pool_view.h"
#include "core/sched/schedule.h"

namespace keiko::sched {

class OrderPolicy {
 public:
  virtual ~OrderPolicy() = default;
  /// A strict weak order over pending jobs; ties are broken by job id.
  virtual bool before(const JobState& a, const JobState& b) const = 0;
  /// RETURNS: the terms of the order for one job, for `keiko why`.
  virtual std::string explain(const JobState& job) const = 0;
};

class PlacePolicy {
 public:
  virtual ~PlacePolicy() = default;
  /// RETURNS: every rank placed within `pool`'s present capacity, which is taken; or nothing, and
  /// the pool is as it was.
  virtual std::optional<JobPlan> place(PoolView& pool, const JobState& job) const = 0;
  /// Marks the slots to keep for `job`. RETURNS: how many were newly marked.
  virtual int32_t reserve(PoolView& pool, const JobState& job) const = 0;
};

/// A complete scheduler by name.
struct PolicySet {
  std::string name;
  std::string summary;
  std::unique_ptr<OrderPolicy> order;
  std::unique_ptr<PlacePolicy> place;
};

/// RETURNS: the set of that name, "fifo" for a name that no longer exists (an old journal must
/// still schedule).
const PolicySet& policy_set(const std::string& name);

std::unique_ptr<OrderPolicy> make_priority_fifo();
std::unique_ptr<PlacePolicy> make_best_fit();

}  // namespace keiko::sched
