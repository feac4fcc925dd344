#include <algorithm>

#include "base/text.h"
#include "sim/scenario.h"
#include "sim/world.h"

namespace keiko::sim {
namespace {

std::string value_of(const std::vector<std::string>& words, const std::string& key) {
  for (const std::string& word : words) {
    if (word.starts_with(key + "=")) return word.substr(key.size() + 1);
  }
  return {};
}

class ScenarioRun {
 public:
  explicit ScenarioRun(const Scenario& scenario)
      : scenario_(scenario),
        trace_(true, scenario.options.trace),
        world_(scenario.options, trace_) {}

  ScenarioReport run() {
    const Time start = world_.heap().now();
    for (const ScenarioStep& step : scenario_.steps) {
      world_.heap().at(start + step.at, [this, &step] { carry_out(step); });
    }
    world_.heap().run_until(start + scenario_.end);
    finish();
    return std::move(report_);
  }

 private:
  void finish() {
    const State final_state =
        world_.server().up() ? world_.server().state() : world_.server().replay();
    const Digest replayed = digest_of(world_.server().replay());
    world_.each_checker([&](Checker& c) { c.replayed(digest_of(final_state), replayed); });
    world_.each_checker([&](Checker& c) { c.at_end({&final_state, world_.heap().now(), false}); });
    for (const std::string& text : world_.violations()) report_.failures.push_back(text);
    for (const std::string& line : trace_.lines()) report_.trace += line + "\n";
    report_.trace_matches = report_.trace == scenario_.expected;
  }

  void fail(const ScenarioStep& step, const std::string& text) {
    report_.failures.push_back("line " + std::to_string(step.line) + ": " + text);
  }

  void carry_out(const ScenarioStep& step) {
    const std::string& verb = step.words[0];
    const std::string target = step.words.size() > 1 ? step.words[1] : "";
    if (verb == "submit") return submit(step, target);
    if (verb == "cancel") return act(step, target, cluster::JobAction::kCancel);
    if (verb == "hold") return act(step, target, cluster::JobAction::kHold);
    if (verb == "release") return act(step, target, cluster::JobAction::kRelease);
    if (verb == "requeue") return act(step, target, cluster::JobAction::kRequeue);
    if (verb == "cordon") return duty(step, target, cluster::NodeAction::kCordon);
    if (verb == "drain") return duty(step, target, cluster::NodeAction::kDrain);
    if (verb == "forget") return duty(step, target, cluster::NodeAction::kForget);
    if (verb == "uncordon") return duty(step, target, cluster::NodeAction::kUncordon);
    if (verb == "kill") return kill(step, target);
    if (verb == "expect") return expect_job(step, target);
    if (verb == "expect-node") return expect_node(step, target);
    if (verb == "crash" || verb == "start") return power(step, verb == "start");
    if (verb == "partition" || verb == "reconnect") return connectivity(step, verb == "partition");
    fail(step, "'" + verb + "' is not an action");
  }

  void submit(const ScenarioStep& step, const std::string& name) {
    const auto spec = scenario_.jobs.find(name);
    if (spec == scenario_.jobs.end()) return fail(step, "no job named '" + name + "'");
    world_.trace("client", "submit " + name);
    world_.command(cluster::SubmitJob{spec->second, "token-" + name},
                   [this, name](const cluster::Reply& reply) {
                     if (reply.result.ok()) {
                       ids_[name] = *reply.result;
                       world_.trace("client", name + " is " + to_text(*reply.result));
                     } else {
                       refused_[name] = reply.result.error().message;
                       world_.trace("client", name + " refused: " + reply.result.error().message);
                     }
                   });
  }

  void act(const ScenarioStep& step, const std::string& name, cluster::JobAction action) {
    if (!ids_.contains(name)) return fail(step, "'" + name + "' was not submitted");
    world_.trace("client", join(step.words, " "));
    world_.command(cluster::ActOnJob{ids_[name], action, "scenario"},
                   [this](const cluster::Reply& reply) {
                     if (!reply.result.ok()) {
                       world_.trace("client", "error: " + reply.result.error().message);
                     }
                   });
  }

  void duty(const ScenarioStep& step, const std::string& name, cluster::NodeAction action) {
    if (!world_.server().up()) return fail(step, "the server is down");
    const auto& nodes = world_.server().state().node_by_name;
    const auto node = nodes.find(name);
    if (node == nodes.end()) return fail(step, "no node named '" + name + "'");
    world_.trace("client", join(step.words, " "));
    world_.command(cluster::ActOnNode{node->second, action, "scenario"});
  }

  void kill(const ScenarioStep& step, const std::string& name) {
    uint64_t rank = 0;
    parse_digits(value_of(step.words, "rank"), rank);
    bool killed = false;
    for (auto& machine : world_.machines()) {
      killed = killed || machine->kill_worker(ids_[name], static_cast<int32_t>(rank));
    }
    if (!killed) fail(step, "no such worker runs");
  }

  void power(const ScenarioStep& step, bool on) {
    const std::string& what = step.words.size() > 1 ? step.words[1] : "";
    if (what == "server") {
      if (on && !world_.server().up()) world_.server().start();
      if (!on) world_.server().crash("kill -9");
      return;
    }
    SimMachine* machine = world_.machine_named(step.words.size() > 2 ? step.words[2] : "");
    if (machine == nullptr) return fail(step, "no such machine");
    if (on) {
      machine->start_agent();
    } else if (what == "agent") {
      machine->crash_agent();
    } else if (what == "machine") {
      machine->crash_machine();
    } else {
      fail(step, "crash what? server, agent N or machine N");
    }
  }

  void connectivity(const ScenarioStep& step, bool cut) {
    SimMachine* machine = world_.machine_named(step.words.size() > 1 ? step.words[1] : "");
    if (machine == nullptr) return fail(step, "no such machine");
    world_.trace("fault", join(step.words, " "));
    machine->set_partitioned(cut);
  }

  void expect_job(const ScenarioStep& step, const std::string& name) {
    const std::string wanted = step.words.size() > 2 ? step.words[2] : "";
    if (wanted == "REFUSED") {
      if (!refused_.contains(name)) fail(step, "'" + name + "' was not refused");
      return;
    }
    if (!ids_.contains(name)) return fail(step, "'" + name + "' was not submitted");
    if (!world_.server().up()) return fail(step, "the server is down");
    const JobState& job = world_.server().state().jobs.at(ids_[name]);
    const auto compare = [&](const std::string& what, const std::string& want,
                             const std::string& got) {
      if (!want.empty() && want != got) {
        fail(step, name + "'s " + what + " is '" + got + "', not '" + want + "': " + job.message);
      }
    };
    compare("status", wanted, to_text(job.status));
    compare("attempts", value_of(step.words, "attempts"), std::to_string(job.attempt));
    compare("reason", value_of(step.words, "reason"), to_text(reason_told(job)));
    compare("exit code", value_of(step.words, "exit"), std::to_string(job.exit_code));
  }

  /// As clients see it: of a job that waits, why it waits.
  Reason reason_told(const JobState& job) {
    const Verdict* verdict = world_.server().brain().verdict_of(job.id);
    return job.status == JobStatus::kPending && verdict != nullptr ? verdict->reason : job.reason;
  }

  void expect_node(const ScenarioStep& step, const std::string& name) {
    if (!world_.server().up()) return fail(step, "the server is down");
    const auto& nodes = world_.server().state().node_by_name;
    const auto node = nodes.find(name);
    if (node == nodes.end()) return fail(step, "no node named '" + name + "'");
    const std::string got =
        to_text(world_.server().brain().status_of(node->second, world_.server().local_now()));
    if (step.words.size() > 2 && got != step.words[2]) {
      fail(step, name + " is " + got + ", not " + step.words[2]);
    }
  }

  const Scenario& scenario_;
  Trace trace_;
  World world_;
  ScenarioReport report_;
  std::map<std::string, JobId> ids_;
  std::map<std::string, std::string> refused_;
};

}  // namespace

ScenarioReport run_scenario(const Scenario& scenario) { return ScenarioRun(scenario).run(); }

}  // namespace keiko::sim
