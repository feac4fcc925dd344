#include "sim/scenario_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "sim/program.h"
#include "sim/world.h"

namespace keiko::sim {
namespace {

using nlohmann::json;

json machines_of(const SimOptions& options) {
  json machines = json::array();
  for (int32_t i = 0; i < options.nodes; ++i) {
    const NodeSpec spec = machine_spec(i, options);
    json machine{{"name", spec.name},
                 {"cpu_milli", spec.cpu_milli},
                 {"memory_bytes", spec.memory.count},
                 {"devices", spec.devices.size()}};
    if (!spec.devices.empty()) machine["device_memory_bytes"] = spec.devices[0].memory.count;
    machines.push_back(std::move(machine));
  }
  return machines;
}

json program_of(const JobSpec& spec) {
  const Program program = MUST(parse_program(spec.command));
  return {{"run_ms", program.run.millis()},
          {"checkpoint_ms", program.checkpoint.millis()},
          {"fail_at_ms", program.fail_at.millis()},
          {"exit_code", program.exit_code},
          {"stubborn", program.stubborn},
          {"cannot_start", program.cannot_start}};
}

/// What was left to the kind of the job is left out.
json job_of(const JobSpec& spec) {
  json job{{"name", spec.name},
           {"kind", to_text(spec.kind)},
           {"workers", spec.workers},
           {"devices", spec.devices},
           {"cpu_milli", spec.cpu_milli},
           {"memory_bytes", spec.memory.count},
           {"priority", spec.priority},
           {"infra_restarts", spec.infra_restarts},
           {"grace_ms", spec.grace.millis()},
           {"time_limit_ms", spec.time_limit.millis()},
           {"one_node", spec.one_node},
           {"program", program_of(spec)}};
  if (spec.restarts >= 0) job["restarts"] = spec.restarts;
  return job;
}

/// "    2.001 server: job_submitted job=j1 name=a workers=1"; `number` counts in the whole file.
json trace_line(const std::string& line, int number) {
  const std::string_view text = trim(line);
  const size_t time_end = text.find(' ');
  const size_t who_end = text.find(": ", time_end);
  const size_t name_end = std::min(text.find(' ', who_end + 2), text.size());
  const auto part = [&](size_t from, size_t to) {
    return std::string(from < to ? text.substr(from, to - from) : std::string_view());
  };
  return {{"line", number},
          {"at", part(0, time_end)},
          {"who", part(time_end + 1, who_end)},
          {"name", part(who_end + 2, name_end)},
          {"text", part(name_end + 1, text.size())}};
}

json trace_of(const Scenario& scenario) {
  const auto head_lines = std::count(scenario.head.begin(), scenario.head.end(), '\n');
  int number = static_cast<int>(head_lines) + 1;  // the line of dashes
  json trace = json::array();
  for (const std::string& line : split(scenario.expected, '\n')) {
    ++number;
    if (line.find(": ") != std::string::npos) trace.push_back(trace_line(line, number));
  }
  return trace;
}

}  // namespace

std::string to_json(const Scenario& scenario, const std::string& path) {
  json jobs = json::object();
  for (const auto& [name, spec] : scenario.jobs) jobs[name] = job_of(spec);
  json steps = json::array();
  for (const ScenarioStep& step : scenario.steps) {
    steps.push_back({{"at_ms", step.at.millis()}, {"line", step.line}, {"words", step.words}});
  }
  const json whole{{"file", path},
                   {"title", scenario.title},
                   {"virtual_only", scenario.virtual_only},
                   {"virtual_because", scenario.virtual_because},
                   {"machines", machines_of(scenario.options)},
                   {"jobs", std::move(jobs)},
                   {"steps", std::move(steps)},
                   {"end_ms", scenario.end.millis()},
                   {"trace", trace_of(scenario)}};
  return whole.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace keiko::sim
