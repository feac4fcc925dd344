#include "agent/metrics/kernel_xids.h"

#include "core/health/log/kernel_line.h"

namespace keiko::agent {
namespace {

/// At once; a flood goes on at the next read.
constexpr size_t kMostRecords = 10'000;

}  // namespace

Result<std::vector<Reading>> KernelXids::read() {
  const Result<KernelLogBatch> batch = log_->read(kMostRecords);
  if (!batch.ok()) return std::vector<Reading>{};  // those who judge health say so
  if (past_) {
    past_ = batch->more;
    return std::vector<Reading>{};
  }
  for (const KernelRecord& record : batch->records) {
    for (const Observation& one : health::read_kernel_record(record, {})) {
      if (one.kind == ObservationKind::kXid) devices_->hear(one);
    }
  }
  return std::vector<Reading>{};
}

}  // namespace keiko::agent
