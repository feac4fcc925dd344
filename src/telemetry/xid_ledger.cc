#include "telemetry/xid_ledger.h"

namespace keiko::telemetry {
namespace {

/// A GPU that dies may raise thousands; then who told of which no longer matters.
constexpr size_t kMostSingles = 4096;

}  // namespace

bool XidLedger::put(const XidSighting& seen) {
  std::deque<Single>& singles = singles_[{seen.gpu, seen.xid}];
  while (!singles.empty() && seen.at - singles.front().at > kTogether) singles.pop_front();
  // All that wait are of one teller, or they would have met.
  if (!singles.empty() && singles.front().teller != seen.teller) {
    singles.pop_front();
    return false;
  }
  singles.push_back({seen.teller, seen.at});
  if (singles.size() > kMostSingles) singles.pop_front();
  XidRecord& record = records_[seen.uuid];
  record.last = seen.xid;
  record.last_text = seen.text;
  ++record.counts[seen.xid];
  return true;
}

}  // namespace keiko::telemetry
