// HealthBrain: what is ill, since when, whose turn it is, and what ends it. An event in, decisions
// out; time comes from the events alone. One brain may hold one node or all of a cluster.
//
//           fault, check                    reset, re-test, reboot, timer, operator
//   healthy ────────────► degraded/unhealthy ────────────────────────────► healthy, on probation
//                          │ quarantined: takes no new work                   after a quarantine
//                          └ reviewed again and again until something ends it
//
// How it is meant to be driven, by the agent's loop or by the server's:
//  1. DevicesFound first, and after each fingerprint that differs from the one before.
//  2. Once a tick (1 s), one Observed with all that was seen: the faults of the Devices port
//     (source kVendorLibrary, boot_us set to the kernel's clock when the fault was learnt), every
//     record of the KernelLog port through read_kernel_record(), its gaps through log_gap(),
//     results of checks and probes. A batch is put in order by time, so the order of its making is
//     no matter. `Observation::at` is on the clock of the events: booted_at + boot_us for what has
//     a boot_us.
//  3. Effects are carried out in their order. kQuarantine and kRelease tell the scheduler what
//  takes
//     no new work; kDrainNode, kAskReset, kAskRetest and kAskReboot are requests, and their outcome
//     comes back as an observation (kDeviceReset or kResetFailed, kRetestPassed or
//     kCheckResult, kReboot); requests are repeated at every review until something ends the
//     condition. kWakeAt wants a Wake at that time.
//  4. encode_health() after a step that had effects, decode_health() at start; then replaying the
//     whole kernel log again changes nothing. The same events give the same digest.
// health_of() answers for one subject, story() tells an incident in a sentence. One thread.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/health/health_state.h"

namespace keiko::health {

// ---- what comes in ----

/// What a node has now; `boot`: its present boot id, where known.
struct DevicesFound { std::string node; std::vector<HealthDevice> devices; std::string boot; };
struct Observed { std::vector<Observation> batch; };
/// The node left the cluster for good: nothing of it is remembered but its incidents.
struct NodeForgotten { std::string node; };
struct OptionsChanged { HealthOptions options; };
struct Wake {};
using EventBody = std::variant<DevicesFound, Observed, NodeForgotten, OptionsChanged, Wake>;
struct Event { Time at; EventBody body; };

// ---- what goes out ----

enum class EffectKind : int {
  kQuarantine = 1,  ///< the subject takes no new work; a node is cordoned
  kRelease = 2,     ///< it does again; on probation until `at`
  kDrainNode = 3,
  kAskReset = 4,    ///< `when_idle`: what runs may end first
  kAskRetest = 5,
  kAskReboot = 6,   ///< of the node, once it is drained
  kNote = 7,
  kWakeAt = 8,      ///< `at`
};
std::string to_text(EffectKind kind);

struct Effect {
  EffectKind kind = EffectKind::kNote;
  HealthSubject subject;
  uint64_t incident = 0;
  bool when_idle = false;
  Time at;
  std::string text;  ///< why, as a sentence

  friend bool operator==(const Effect&, const Effect&) = default;
};
using Effects = std::vector<Effect>;

class HealthBrain {
 public:
  explicit HealthBrain(HealthOptions options = {});
  /// Goes on from a state that was stored.
  explicit HealthBrain(HealthState state);

  Effects step(const Event& event);

  const HealthState& state() const { return state_; }
  Digest digest() const { return digest_of(state_); }

 private:
  HealthState state_;
  Time wake_asked_;  ///< the last kWakeAt
};

}  // namespace keiko::health
