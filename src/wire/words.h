// Words of the model's enumerations, read back. The model prints them (to_text); only the wire
// reads them, as the contract carries words.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text.h"
#include "model/health.h"
#include "model/host.h"
#include "model/job.h"
#include "model/messages.h"
#include "model/verdict.h"
#include "model/worker.h"

namespace keiko {

/// RETURNS: the value whose to_text is `word`, in any case, or kInvalidArgument for `field` with
/// the nearest word.
template <class E, size_t kCount>
Result<E> parse_word(std::string_view word, const std::array<E, kCount>& values,
                     const std::string& field) {
  std::vector<std::string> known;
  for (const E value : values) {
    known.push_back(to_text(value));
    if (same_but_for_case(known.back(), word)) return value;
  }
  const std::string near = nearest_word(word, known);
  return invalid_argument(field + ": " + quote_text(word) + " is not one of " + join(known, ", ") +
                              (near.empty() ? "" : "; did you mean " + near + "?"),
                          field);
}

inline constexpr std::array kJobKinds{JobKind::kBatch, JobKind::kTrain};
inline constexpr std::array kJobStatuses{
    JobStatus::kPending,    JobStatus::kStarting,  JobStatus::kRunning,
    JobStatus::kRegrouping, JobStatus::kPreempting, JobStatus::kSuspended,
    JobStatus::kCompleted,  JobStatus::kFailed,    JobStatus::kCancelled};
inline constexpr std::array kWorkerStatuses{WorkerStatus::kStarting, WorkerStatus::kRunning,
                                            WorkerStatus::kStopping, WorkerStatus::kEnded};
inline constexpr std::array kEndCauses{
    EndCause::kNone,        EndCause::kExited,      EndCause::kSignalled,  EndCause::kStopped,
    EndCause::kStartFailed, EndCause::kOutOfMemory, EndCause::kLeaseEnded, EndCause::kVanished,
    EndCause::kNodeFailed,  EndCause::kNodeLeft,    EndCause::kNotWell};
inline constexpr std::array kHealthSubjectKinds{HealthSubjectKind::kNode,
                                                HealthSubjectKind::kDevice,
                                                HealthSubjectKind::kLink, HealthSubjectKind::kNic};
inline constexpr std::array kHealthActions{HealthAction::kClear, HealthAction::kCheck};
inline constexpr std::array kLinkKinds{LinkKind::kSystem, LinkKind::kNuma,  LinkKind::kPcie,
                                       LinkKind::kNvlink, LinkKind::kXgmi, LinkKind::kShared};
inline constexpr std::array kNicKinds{NicKind::kEthernet, NicKind::kInfiniband, NicKind::kRoce,
                                      NicKind::kRdma};

}  // namespace keiko
