// The table of policies: name -> parts. The only place where they meet.
#include <array>

#include "core/sched/policy.h"

namespace keiko::sched {
namespace {

std::array<PolicySet, 1> make_policy_sets() {
  return {{
      {"fifo", "priority, then first come; best fit; a blocked job keeps the nodes nearest to free",
       make_priority_fifo(), make_best_fit()},
      // ./dev new policy adds its row above this line.
  }};
}

const auto& policy_sets() {
  static const auto sets = make_policy_sets();
  return sets;
}

}  // namespace

const PolicySet& policy_set(const std::string& name) {
  for (const PolicySet& set : policy_sets()) {
    if (set.name == name) return set;
  }
  return policy_sets().front();
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const PolicySet& set : policy_sets()) names.push_back(set.name);
  return names;
}

}  // namespace keiko::sched
