// Why a request does not fit: clause by clause, with the nearest miss. Shared by the pass, by
// feasibility() and by explain().
#pragma once

#include "core/sched/pool_view.h"

namespace keiko::sched {

/// RETURNS: "2 workers x 4 devices (h100, >= 80GiB each), 8 cpu, 16GiB memory".
std::string ask_text(const JobSpec& spec);

/// RETURNS: "1.5" for 1500 thousandths of a core.
std::string cores_text(int64_t cpu_milli);

/// Counts, for each clause that some node fails, how many nodes fail it first, in the order duty
/// and labels, device kind, device memory, free devices, free cpu, free memory; the nearest miss is
/// the node that comes closest to the clause.
std::vector<Clause> clauses_of(const PoolView& pool, const Shape& shape);

/// RETURNS: how many workers of the shape fit on the whole pool now, or, with `empty`, if nothing
/// ran and every node answered; on one node at most, with `one_node`. Device kinds do not mix.
struct Room {
  int64_t workers = 0;
  std::string kind;
};
Room room_for(const PoolView& pool, const Shape& shape, bool one_node, bool empty);

/// The refusal of a job that fits an empty pool but not this one now.
Verdict not_now(const PoolView& pool, const JobState& job, const Shape& shape);

}  // namespace keiko::sched
