#include "server/history/history_plan.h"

#include <algorithm>
#include <iterator>

namespace keiko::server {
namespace {

constexpr int64_t kUsualPoints = 240;  // a chart's, in a terminal or a page
constexpr int64_t kMostPoints = 1000;

/// 0 is for ever, so the other one counts.
Duration shorter(Duration a, Duration b) { return a.ns == 0 || (b.ns > 0 && b < a) ? b : a; }

int64_t count_buckets(const HistorySpans& spans) {
  int64_t count = 0;
  for (const auto& [at, subjects] : spans) {
    for (const auto& [subject, buckets] : subjects) count += std::ssize(buckets);
  }
  return count;
}

}  // namespace

std::vector<HistoryStep> history_steps(Duration keep) {
  return {{seconds(10), shorter(hours(6), keep)},
          {minutes(1), shorter(hours(7 * 24), keep)},
          {minutes(15), keep}};
}

HistoryReadPlan plan_history_read(const HistorySpan& span, WallTime now,
                                  const std::vector<HistoryStep>& steps) {
  const Duration range = span.since - span.until;
  const Duration wanted =
      std::max(span.step.ns > 0 ? span.step : range / kUsualPoints, range / kMostPoints);
  size_t chosen = 0;
  for (size_t i = 1; i < steps.size(); ++i) {
    const bool too_short = steps[chosen].keep.ns > 0 && span.since > steps[chosen].keep;
    if (too_short || steps[i].step <= wanted) chosen = i;
  }
  HistoryReadPlan plan;
  plan.stored = steps[chosen].step;
  const int64_t times = (wanted.ns + plan.stored.ns - 1) / plan.stored.ns;
  plan.step = plan.stored * std::max<int64_t>(times, 1);
  plan.since = span_begin({std::max<int64_t>(now.ns - span.since.ns, 0)}, plan.step);
  plan.until = {std::max<int64_t>(now.ns - span.until.ns, 0)};
  return plan;
}

HistorySpans fold_history(const std::vector<HistoryRow>& rows, Duration& step, int64_t most) {
  for (;;) {
    HistorySpans spans;
    for (const HistoryRow& row : rows) merge(spans[span_begin(row.at, step).ns], row.subjects);
    if (count_buckets(spans) <= most || spans.size() <= 1) return spans;
    step = step * 2;
  }
}

}  // namespace keiko::server
