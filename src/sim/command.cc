#include "sim/command.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string_view>

#include "base/id.h"
#include "core/state/journal_dump.h"
#include "sim/scenario.h"
#include "sim/scenario_json.h"
#include "sim/swarm.h"

namespace keiko::sim {
namespace {

constexpr const char* kUsage =
    "usage: keiko sim --seeds N [--first S] [--also FILE]   run a swarm of seeds\n"
    "       keiko sim --seed S [--trace]                    run one seed\n"
    "       keiko sim scenario FILE... [--update] [--trace] run scenario files\n"
    "       keiko sim scenario FILE... --json               print them parsed, one a line\n"
    "       keiko sim replay FILE                           replay a journal dump, print its "
    "digest\n";

int usage(const std::string& problem) {
  std::fprintf(stderr, "keiko sim: %s\n%s", problem.c_str(), kUsage);
  return 2;
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return not_found("cannot read " + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print_swarm(const SwarmReport& report, double took) {
  std::printf("%llu runs in %.1f s, %llu of them twice: %llu jobs, %llu completed, %llu restarts; "
              "%llu events, %.0f events/s\n",
              static_cast<unsigned long long>(report.runs), took,
              static_cast<unsigned long long>(report.run_twice),
              static_cast<unsigned long long>(report.jobs),
              static_cast<unsigned long long>(report.completed),
              static_cast<unsigned long long>(report.restarts),
              static_cast<unsigned long long>(report.events),
              static_cast<double>(report.events) / took);
  for (const RunReport& failure : report.failures) {
    std::printf("%s", failure_text(failure).c_str());
  }
  std::printf("%llu passed, %zu failed\n",
              static_cast<unsigned long long>(report.runs - report.failures.size()),
              report.failures.size());
}

int swarm(const SwarmOptions& options) {
  std::printf("seeds %llu to %llu\n", static_cast<unsigned long long>(options.first_seed),
              static_cast<unsigned long long>(options.first_seed + options.seeds - 1));
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const auto start = std::chrono::steady_clock::now();
  const uint64_t all = options.seeds + options.also.size();
  const SwarmReport report = run_swarm(options, [&](uint64_t runs, uint64_t failed) {
    if (!terminal) return;
    std::fprintf(stderr, "\r\033[K%llu/%llu runs, %llu failed",
                 static_cast<unsigned long long>(runs), static_cast<unsigned long long>(all),
                 static_cast<unsigned long long>(failed));
  });
  if (terminal) std::fprintf(stderr, "\r\033[K");
  print_swarm(report, seconds_since(start));
  return report.failures.empty() ? 0 : 1;
}

int one_seed(uint64_t seed, bool trace) {
  SimOptions options = options_of_seed(seed);
  options.trace = trace;
  const RunReport report = run_seed(options);
  std::printf(
      "seed %llu: %llu jobs, %llu completed, %llu failed, %llu restarts, %llu events, trace "
      "%s, state %s\n",
      static_cast<unsigned long long>(seed), static_cast<unsigned long long>(report.jobs),
      static_cast<unsigned long long>(report.completed),
      static_cast<unsigned long long>(report.failed),
      static_cast<unsigned long long>(report.restarts),
      static_cast<unsigned long long>(report.events), to_text(report.trace).c_str(),
      to_text(report.state).c_str());
  if (!report.ok()) std::printf("%s", failure_text(report).c_str());
  return report.ok() ? 0 : 1;
}

void print_difference(const std::string& expected, const std::string& got) {
  std::istringstream left(expected);
  std::istringstream right(got);
  std::string a;
  std::string b;
  for (int line = 1; ; ++line) {
    const bool more_a = static_cast<bool>(std::getline(left, a));
    const bool more_b = static_cast<bool>(std::getline(right, b));
    if (!more_a && !more_b) return;
    if (more_a == more_b && a == b) continue;
    std::printf("  trace line %d:\n    expected: %s\n    got:      %s\n", line,
                more_a ? a.c_str() : "(the end)", more_b ? b.c_str() : "(the end)");
    return;
  }
}

/// What to do with scenario files.
struct ScenarioUse {
  bool update = false;
  bool trace = false;
  bool json = false;
};

/// RETURNS: whether the scenario holds (or was updated, or could be printed).
bool one_scenario(const std::string& path, const ScenarioUse& use) {
  const Result<std::string> text = read_file(path);
  if (!text.ok()) {
    std::fprintf(stderr, "%s\n", text.error().message.c_str());
    return false;
  }
  Result<Scenario> scenario = parse_scenario(*text);
  if (!scenario.ok()) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), scenario.error().text().c_str());
    return false;
  }
  if (use.json) {
    std::printf("%s\n", to_json(*scenario, path).c_str());
    return true;
  }
  scenario->options.trace = use.trace;
  const ScenarioReport report = run_scenario(*scenario);
  for (const std::string& failure : report.failures) {
    std::printf("%s: %s\n", path.c_str(), failure.c_str());
  }
  if (use.update && report.failures.empty()) {
    std::ofstream(path, std::ios::binary) << updated(*scenario, report);
    return true;
  }
  if (!report.trace_matches) {
    std::printf("%s: the trace differs; `keiko sim scenario %s --update` rewrites it\n",
                path.c_str(), path.c_str());
    print_difference(scenario->expected, report.trace);
  }
  return report.ok();
}

int scenarios(const std::vector<std::string>& arguments) {
  ScenarioUse use;
  std::vector<std::string> files;
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "--update") {
      use.update = true;
    } else if (arguments[i] == "--trace") {
      use.trace = true;
    } else if (arguments[i] == "--json") {
      use.json = true;
    } else {
      files.push_back(arguments[i]);
    }
  }
  if (files.empty()) return usage("scenario needs a file");
  size_t failed = 0;
  for (const std::string& file : files) failed += one_scenario(file, use) ? 0 : 1;
  if (use.json) return failed == 0 ? 0 : 1;
  std::printf("%zu passed, %zu failed\n", files.size() - failed, failed);
  return failed == 0 ? 0 : 1;
}

int replay(const std::string& path) {
  const Result<std::string> bytes = read_file(path);
  if (!bytes.ok()) return usage(bytes.error().message);
  const Result<JournalDump> dump = decode_dump(*bytes);
  if (!dump.ok()) return usage(path + ": " + dump.error().message);
  if (dump->snapshot_sequence > 0) {
    std::printf("from a snapshot of the first %llu records\n",
                static_cast<unsigned long long>(dump->snapshot_sequence));
  }
  const Result<State> state = replay_dump(*dump, [](uint64_t sequence, const StateEvent& event) {
    std::printf("%llu %s %s\n", static_cast<unsigned long long>(sequence),
                to_text(event.at).c_str(), to_text(event).c_str());
  });
  if (!state.ok()) {
    std::printf("%s: %s\n", path.c_str(), state.error().text().c_str());
    return 1;
  }
  std::printf("%zu records, %zu nodes, %zu jobs, digest %s\n", dump->records.size(),
              state->nodes.size(), state->jobs.size(), to_text(digest_of(*state)).c_str());
  return 0;
}

}  // namespace

int sim_main(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h")) {
    std::printf("%s", kUsage);
    return 0;
  }
  if (!arguments.empty() && arguments[0] == "scenario") return scenarios(arguments);
  if (arguments.size() == 2 && arguments[0] == "replay") return replay(arguments[1]);
  SwarmOptions options;
  options.first_seed = static_cast<uint64_t>(
      std::chrono::system_clock::now().time_since_epoch().count() / 1'000'000);
  bool trace = false;
  uint64_t seed = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const std::string value = i + 1 < arguments.size() ? arguments[i + 1] : "";
    uint64_t number = 0;
    if (word == "--trace") {
      trace = true;
      continue;
    }
    if (word == "--also") {
      options.also = read_seeds(read_file(value).value_or(""));
    } else if (!parse_digits(value, number)) {
      return usage(word.rfind("--", 0) == 0 ? word + " needs a whole number"
                                             : "'" + word + "' is not understood");
    } else if (word == "--seeds") {
      options.seeds = number;
    } else if (word == "--first") {
      options.first_seed = number;
    } else if (word == "--seed") {
      seed = number;
    } else {
      return usage("'" + word + "' is not an option");
    }
    ++i;
  }
  return seed != 0 ? one_seed(seed, trace) : swarm(options);
}

}  // namespace keiko::sim
