#include "base/text.h"
#include "sim/program.h"
#include "sim/scenario.h"

namespace keiko::sim {
namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (std::string& word : split(trim(line), ' ')) {
    if (!word.empty()) words.push_back(std::move(word));
  }
  return words;
}

Error at_line(int line, const std::string& message) {
  return invalid_argument(message, "line " + std::to_string(line));
}

Result<int64_t> number_of(const std::string& text, int line) {
  uint64_t number = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (!parse_digits(std::string_view(text).substr(negative ? 1 : 0), number)) {
    return at_line(line, "'" + text + "' is not a number");
  }
  return negative ? -static_cast<int64_t>(number) : static_cast<int64_t>(number);
}

/// RETURNS: false if the key belongs to the program, not to the spec.
Result<bool> set_job_key(JobSpec& spec, const std::string& key, const std::string& value,
                         int line) {
  if (key == "workers") {
    spec.workers = static_cast<int32_t>(TRY(number_of(value, line)));
  } else if (key == "devices") {
    spec.devices = static_cast<int32_t>(TRY(number_of(value, line)));
  } else if (key == "cpu") {
    spec.cpu_milli = TRY(number_of(value, line)) * 1000;
  } else if (key == "memory") {
    spec.memory = TRY(parse_bytes(value));
  } else if (key == "priority") {
    spec.priority = static_cast<int32_t>(TRY(number_of(value, line)));
  } else if (key == "restarts") {
    spec.restarts = static_cast<int32_t>(TRY(number_of(value, line)));
  } else if (key == "infra_restarts") {
    spec.infra_restarts = static_cast<int32_t>(TRY(number_of(value, line)));
  } else if (key == "grace") {
    spec.grace = TRY(parse_duration(value));
  } else if (key == "time_limit") {
    spec.time_limit = TRY(parse_duration(value));
  } else if (key == "one_node") {
    spec.one_node = value == "true";
  } else {
    return false;
  }
  return true;
}

Done parse_job(Scenario& scenario, const std::vector<std::string>& words, int line) {
  if (words.size() < 2) return at_line(line, "a job needs a name");
  JobSpec spec;
  spec.name = words[1];
  spec.user = "scenario";
  spec.workdir = "/";
  std::vector<std::string> program{"sim"};
  for (size_t i = 2; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    if (!TRY(set_job_key(spec, words[i].substr(0, equals), value, line))) {
      program.push_back(words[i]);
    }
  }
  if (const auto parsed = parse_program(program); !parsed.ok()) {
    return at_line(line, parsed.error().message);
  }
  spec.command = program;
  if (const Done valid = validate(spec); !valid.ok()) return at_line(line, valid.error().message);
  scenario.jobs[spec.name] = spec;
  return done();
}

Done parse_cluster(Scenario& scenario, const std::vector<std::string>& words, int line) {
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    const int64_t number = TRY(number_of(value, line));
    if (key == "nodes") {
      scenario.options.nodes = static_cast<int32_t>(number);
    } else if (key == "devices") {
      scenario.options.devices_per_node = static_cast<int32_t>(number);
    } else if (key == "seed") {
      scenario.options.seed = static_cast<uint64_t>(number);
    } else if (key == "snapshot_every") {
      scenario.options.snapshot_every = static_cast<int32_t>(number);
    } else {
      return at_line(line, "'" + key + "' is no key of cluster; use nodes, devices, seed, "
                           "snapshot_every");
    }
  }
  return done();
}

Done parse_line(Scenario& scenario, const std::vector<std::string>& words, int line) {
  if (words[0] == "cluster") return parse_cluster(scenario, words, line);
  if (words[0] == "job") return parse_job(scenario, words, line);
  if (words[0] == "clock") {
    if (words.size() < 3 || words[1] != "virtual") {
      return at_line(line, "write `clock virtual WHY`: why real processes cannot run it");
    }
    scenario.virtual_only = true;
    scenario.virtual_because = join({words.begin() + 2, words.end()}, " ");
    return done();
  }
  if (words[0] == "end" && words.size() == 2) {
    scenario.end = TRY(parse_duration(words[1]));
    return done();
  }
  if (words[0] == "at" && words.size() >= 3) {
    ScenarioStep step;
    step.at = TRY(parse_duration(words[1]));
    step.line = line;
    step.words.assign(words.begin() + 2, words.end());
    scenario.steps.push_back(std::move(step));
    return done();
  }
  return at_line(line,
                 "'" + words[0] + "' is not a scenario word; use cluster, job, clock, at, end");
}

}  // namespace

Result<Scenario> parse_scenario(const std::string& text) {
  Scenario scenario;
  scenario.options.delay_max = milliseconds(1);
  scenario.options.delay_min = milliseconds(1);
  const size_t dashes = text.find("\n----\n");
  scenario.head = dashes == std::string::npos ? text : text.substr(0, dashes + 1);
  if (dashes != std::string::npos) scenario.expected = text.substr(dashes + 6);
  int number = 0;
  for (const std::string& line : split(scenario.head, '\n')) {
    ++number;
    const std::string_view content = trim(std::string_view(line).substr(0, line.find('#')));
    if (content.empty()) {
      if (scenario.title.empty() && line.starts_with("#")) scenario.title = trim(line.substr(1));
      continue;
    }
    TRY(parse_line(scenario, words_of(content), number));
  }
  return scenario;
}

std::string updated(const Scenario& scenario, const ScenarioReport& report) {
  std::string head = scenario.head;
  while (head.ends_with("\n\n")) head.pop_back();
  if (!head.ends_with("\n")) head += "\n";
  return head + "----\n" + report.trace;
}

}  // namespace keiko::sim
