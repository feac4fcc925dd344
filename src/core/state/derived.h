// What follows from the tables and is kept beside them: capacity given away, indices. Shared by
// apply(), decode_state() and check_state(); nobody else writes these fields.
#pragma once

#include "core/state/event.h"

namespace keiko {

/// Takes or gives back what one worker holds on its node. A rank holds its devices from JobPlaced
/// until WorkerEnded. REQUIRES: the node exists.
void take_capacity(State& state, const JobState& job, const WorkerState& worker);
void give_back_capacity(State& state, const JobState& job, const WorkerState& worker);

/// Puts the job into the indices where its status belongs.
void reindex(State& state, const JobState& job);

/// Computes every derived field from nothing.
void rebuild_derived(State& state);

/// Is the job placed: does it hold, or wait for the end of, an attempt's workers?
bool is_placed(JobStatus status);

/// What a suspended job says of itself.
std::string held_text(const JobState& job);

/// Adds an entry to the job's timeline and drops the oldest beyond the cap.
void add_timeline(JobState& job, Time at, const std::string& what, std::string text);

/// RETURNS: a refusal if the tables could not stay sound with this in them.
Done check_lawful(const char* event, const JobSpec& spec);
Done check_lawful(const char* event, const NodeSpec& spec);
Done check_lawful(const char* event, const LeaseOptions& lease);

/// Refuses an event in words: the event's name and what does not fit.
Error misfit(const char* event, const std::string& text);

/// RETURNS: the job, or a refusal.
Result<JobState*> find_job(State& state, const char* event, JobId id);

/// RETURNS: the job if it is placed and in this attempt, or a refusal.
Result<JobState*> find_attempt(State& state, const char* event, JobId id, int32_t attempt);

Result<NodeState*> find_node(State& state, const char* event, NodeId id);

// One apply per kind, in apply_<kind>.cc. Each refuses before it changes anything.
Done apply_body(State& state, Time at, const ServerStarted& event);
Done apply_body(State& state, Time at, const JobSubmitted& event);
Done apply_body(State& state, Time at, const JobPlaced& event);
Done apply_body(State& state, Time at, const RendezvousReady& event);
Done apply_body(State& state, Time at, const WorkerStarted& event);
Done apply_body(State& state, Time at, const WorkerEnded& event);
Done apply_body(State& state, Time at, const JobStopping& event);
Done apply_body(State& state, Time at, const AttemptEnded& event);
Done apply_body(State& state, Time at, const JobCancelled& event);
Done apply_body(State& state, Time at, const JobHeld& event);
Done apply_body(State& state, Time at, const JobReleased& event);
Done apply_body(State& state, Time at, const CheckpointCommitted& event);
Done apply_body(State& state, Time at, const NodeJoined& event);
Done apply_body(State& state, Time at, const NodeLost& event);
Done apply_body(State& state, Time at, const NodeDuty& event);
Done apply_body(State& state, Time at, const NodeForgotten& event);
Done apply_body(State& state, Time at, const OptionsChanged& event);

}  // namespace keiko
