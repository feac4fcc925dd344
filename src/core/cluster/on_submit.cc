#include "core/cluster/brain_steps.h"
#include "core/sched/schedule.h"

namespace keiko::cluster {

namespace {

constexpr size_t kMostToken = 256;
constexpr size_t kMostFitting = 4096;

/// RETURNS: the part of a spec that decides whether it fits a pool, as bytes.
std::string ask_of(const JobSpec& spec) {
  JobSpec ask;
  ask.workers = spec.workers;
  ask.devices = spec.devices;
  ask.device_kind = spec.device_kind;
  ask.device_memory = spec.device_memory;
  ask.cpu_milli = spec.cpu_milli;
  ask.memory = spec.memory;
  ask.node_labels = spec.node_labels;
  ask.one_node = spec.one_node;
  if (!spec.image.empty()) ask.image = "/";  // any: what matters is whether there is one
  return encode(ask);
}

}  // namespace

std::string name_of_command(const std::vector<std::string>& command) {
  // An interpreter says less than the script it runs: the first word that looks like a file wins.
  std::string word = command.empty() ? "" : command[0];
  for (size_t i = 1; i < command.size() && i < 4; ++i) {
    if (command[i].ends_with(".py") || command[i].ends_with(".sh")) word = command[i];
  }
  word = word.substr(word.rfind('/') + 1);
  std::string label;
  for (const char c : word) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool plain = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (plain) {
      label += lower;
    } else if (!label.empty() && label.back() != '-') {
      label += '-';
    }
  }
  label = label.substr(0, 63);
  while (label.ends_with('-')) label.pop_back();
  return label.empty() ? "job" : label;
}

// A look at every node costs milliseconds in a large pool, and most jobs ask for what others asked.
Verdict BrainSteps::feasibility_of(const JobSpec& spec) {
  std::string ask = ask_of(spec);
  if (brain_.fitting_.contains(ask)) return {};
  Verdict verdict = sched::feasibility(brain_.state_, spec);
  if (verdict.fit != Fit::kFits) return verdict;
  if (brain_.fitting_.size() >= kMostFitting) brain_.fitting_.clear();
  brain_.fitting_.insert(std::move(ask));
  return verdict;
}

void BrainSteps::carry_out(uint64_t request, const SubmitJob& submit) {
  State& state = brain_.state_;
  if (!submit.token.empty()) {
    const auto known = state.job_by_token.find(submit.token);
    if (known != state.job_by_token.end()) {
      return reply(request, known->second, to_text(known->second) + " was submitted before");
    }
  }
  if (submit.token.size() > kMostToken) {
    return reply(request, invalid_argument("the token has " + std::to_string(submit.token.size()) +
                                           " bytes; it may have " + std::to_string(kMostToken)));
  }
  JobSpec spec = submit.spec;
  if (spec.name.empty()) spec.name = name_of_command(spec.command);
  if (Done valid = validate(spec); !valid.ok()) return reply(request, std::move(valid).error());
  const Verdict verdict = feasibility_of(spec);
  if (verdict.fit == Fit::kNever) {
    return reply(request, failed_precondition(verdict.sentence));
  }
  const JobId id{state.next_job};
#ifdef KEIKO_BUG_REPLY_BEFORE_PERSIST
  reply(request, id, "submitted " + to_text(id));
#endif
  if (!commit(JobSubmitted{id, std::move(spec), submit.token})) {
    return reply(request, internal_error("the job was refused by the state; see the server's log"));
  }
  brain_.schedule_wanted_ = true;
  reply(request, id, "submitted " + to_text(id));
}

}  // namespace keiko::cluster
