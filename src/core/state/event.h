// The durable events: the only way in which State changes. Each is journaled before anything is
// told to anybody. Kinds and tags are forever: a journal written today must replay in ten years.
//
// One kind = one struct in events/ and its apply_body() in an apply_*.cc.
// apply() is total: an event that does not fit the state is refused and changes nothing.
#pragma once

#include <string>
#include <variant>

#include "core/state/events/job_events.h"
#include "core/state/events/pool_events.h"

namespace keiko {

using StateBody =
    std::variant<ServerStarted, JobSubmitted, JobPlaced, RendezvousReady, WorkerStarted,
                 WorkerEnded, JobStopping, AttemptEnded, JobCancelled, JobHeld, JobReleased,
                 CheckpointCommitted, NodeJoined, NodeLost, NodeDuty, OptionsChanged,
                 NodeForgotten>;

/// A body and when it happened on the brain's clock.
struct StateEvent {
  Time at;
  StateBody body;
};

/// RETURNS: version byte, kind, time, fields: one journal record.
std::string encode_event(const StateEvent& event);

/// RETURNS: kDataLoss for damaged bytes, kUnimplemented for a kind from a newer version.
Result<StateEvent> decode_event(std::string_view bytes);

/// RETURNS: "job_submitted job=j1 ..." without the time.
std::string to_text(const StateEvent& event);

/// The law. RETURNS: kFailedPrecondition, and the state is untouched, if the event does not fit it.
Done apply(State& state, const StateEvent& event);

}  // namespace keiko
