// What the tables need of a specification to stay sound: bounds that arithmetic relies on and
// indices that must exist. validate() in the model asks for more and may grow stricter with every
// version; an old journal holds what an old validate() let pass and must replay, so the law does
// not ask it.
#include "core/state/derived.h"

namespace keiko {
namespace {

// Sums over a node cannot overflow: what is taken never exceeds what the node has, and one more
// worker on top of that stays far below 2^63.
constexpr int64_t kMostMemory = int64_t{1} << 60;
constexpr int64_t kMostCpuMilli = int64_t{1} << 50;
constexpr int32_t kMostWorkers = 1 << 20;
constexpr int32_t kMostDevices = 1 << 16;

bool within(int64_t value, int64_t low, int64_t high) { return low <= value && value <= high; }

}  // namespace

Done check_lawful(const char* event, const JobSpec& spec) {
  if (spec.command.empty()) return misfit(event, "a job without a command");
  if (!within(spec.workers, 1, kMostWorkers))
    return misfit(event, "an impossible number of workers");
  if (!within(spec.devices, 0, kMostDevices))
    return misfit(event, "an impossible number of devices");
  if (!within(spec.cpu_milli, 0, kMostCpuMilli)) return misfit(event, "an impossible share of cpu");
  if (!within(spec.memory.count, 0, kMostMemory)) return misfit(event, "an impossible memory");
  if (spec.grace < Duration{} || spec.time_limit < Duration{}) {
    return misfit(event, "a negative grace or time limit");
  }
  return done();
}

Done check_lawful(const char* event, const NodeSpec& spec) {
  if (spec.name.empty()) return misfit(event, "a node without a name");
  if (!within(spec.cpu_milli, 0, kMostCpuMilli))
    return misfit(event, "an impossible amount of cpu");
  if (!within(spec.memory.count, 0, kMostMemory)) return misfit(event, "an impossible memory");
  if (spec.devices.size() > kMostDevices) return misfit(event, "too many devices");
  for (size_t i = 0; i < spec.devices.size(); ++i) {
    if (spec.devices[i].index != static_cast<int32_t>(i)) {
      return misfit(event, "devices that do not count from 0");
    }
  }
  const int64_t last = static_cast<int64_t>(spec.devices.size()) - 1;
  for (const Link& link : spec.links) {
    if (!within(link.first, 0, last) || !within(link.second, 0, last)) {
      return misfit(event, "a link to a device that is not there");
    }
  }
  return done();
}

Done check_lawful(const char* event, const LeaseOptions& lease) {
  for (const Duration each : {lease.heartbeat, lease.slow_after, lease.unreachable_after,
                              lease.lease, lease.stop_before, lease.kill_before}) {
    if (each <= Duration{}) return misfit(event, "a lease with a duration that is not positive");
  }
  return done();
}

}  // namespace keiko
