// What the history keeps at which step, and from which step a question is answered. Pure.
//
//   step     kept for                    a point of a chart of
//   10 s     6 h                         an hour or two
//   1 min    7 d                         a day
//   15 min   HistoryOptions::keep        weeks
//
// Every span holds least, most and mean, so a peak of a second is still seen after a month.
#pragma once

#include <map>
#include <vector>

#include "model/history.h"

namespace keiko::server {

struct HistoryStep {
  Duration step;
  Duration keep;  ///< 0: for ever
};

/// RETURNS: the steps, finest first. `keep`: of the coarsest; 0: for ever.
std::vector<HistoryStep> history_steps(Duration keep);

/// How far back, from now.
struct HistorySpan {
  Duration since;
  Duration until;
  Duration step;  ///< of a point, at least; 0: about 240 of them
};

struct HistoryReadPlan {
  Duration stored;  ///< the step that is read
  Duration step;    ///< a multiple of it, that of the answer
  WallTime since;   ///< at the border of a span
  WallTime until;
};

/// Takes the coarsest step that is fine enough and reaches back far enough.
/// REQUIRES: span.since > span.until >= 0.
HistoryReadPlan plan_history_read(const HistorySpan& span, WallTime now,
                                  const std::vector<HistoryStep>& steps);

/// By the begin of their spans, in nanoseconds.
using HistorySpans = std::map<int64_t, SubjectBuckets>;

/// RETURNS: the rows in spans of `step`, or of the smallest multiple by a power of two at which
/// there are at most `most` buckets; `step` becomes that.
HistorySpans fold_history(const std::vector<HistoryRow>& rows, Duration& step, int64_t most);

}  // namespace keiko::server
