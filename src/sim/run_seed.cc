#include "sim/run_seed.h"

#include "sim/disturbance.h"
#include "sim/world.h"

namespace keiko::sim {

RunReport run_seed(const SimOptions& options) {
  Trace trace(false, options.trace);
  World world(options, trace);
  Disturbance disturbance(world);
  const Time start = world.heap().now();
  world.heap().run_until(start + options.safety_phase);
  disturbance.heal();
  world.heap().run_until(start + options.safety_phase + options.liveness_phase);

  RunReport report;
  report.seed = options.seed;
  CHECK(world.server().up());
  const State& state = world.server().state();
  const Digest live = digest_of(state);
  const Digest replayed = digest_of(world.server().replay());
  world.each_checker([&](Checker& c) { c.replayed(live, replayed); });
  world.each_checker([&](Checker& c) { c.at_end({&state, world.heap().now(), true}); });
  report.violations = world.violations();
  report.trace = trace.digest();
  report.state = live;
  report.events = world.heap().events_run();
  report.jobs = state.jobs.size();
  for (const auto& [id, job] : state.jobs) {
    if (job.status == JobStatus::kCompleted) ++report.completed;
    if (job.status == JobStatus::kFailed) ++report.failed;
    report.restarts += job.attempt > 1 ? static_cast<uint64_t>(job.attempt - 1) : 0;
  }
  return report;
}

}  // namespace keiko::sim
