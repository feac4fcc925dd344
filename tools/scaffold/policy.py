"""./dev new policy: an order of pending jobs, offered by name beside "fifo"."""
from .draft import pascal

TABLE = "src/core/sched/policies.cc"
HEADER = "src/core/sched/policy.h"

FILE = """// Order: the job with the lower id first. Say here which order this is, and why.
#include "core/sched/policy.h"

namespace keiko::sched {{
namespace {{

class {type}Policy final : public OrderPolicy {{
 public:
  bool before(const JobState& a, const JobState& b) const override {{ return a.id < b.id; }}

  std::string explain(const JobState& job) const override {{
    return "submitted as " + to_text(job.id);
  }}
}};

}}  // namespace

std::unique_ptr<OrderPolicy> make_{name}() {{ return std::make_unique<{type}Policy>(); }}

}}  // namespace keiko::sched
"""

TEST = """#include <gtest/gtest.h>

#include "core/sched/policy.h"
#include "core/sched/sched_fixture.h"

namespace keiko::sched {{
namespace {{

TEST({type}, puts_the_earlier_job_first) {{
  State state;
  add_node(state, "a", 1);
  const JobState first = add_job(state, 1, 1);
  const JobState second = add_job(state, 1, 1);
  const PolicySet& set = policy_set("{name}");
  ASSERT_EQ(set.name, "{name}");
  EXPECT_TRUE(set.order->before(first, second));
  EXPECT_FALSE(set.order->before(second, first));
}}

}}  // namespace
}}  // namespace keiko::sched
"""


def scaffold(draft, name):
    type_name = pascal(name)
    draft.new_file(f"src/core/sched/policies/{name}.cc", FILE.format(name=name, type=type_name))
    draft.new_file(f"src/core/sched/policies/{name}_test.cc",
                   TEST.format(name=name, type=type_name))
    draft.row_before(HEADER, r"^std::unique_ptr<OrderPolicy> make_",
                     f"std::unique_ptr<OrderPolicy> make_{name}();\n")
    draft.row_before(TABLE, r"\./dev new policy adds its row above",
                     f'      {{"{name}", "the lower id first; best fit",\n'
                     f"       make_{name}(), make_best_fit()}},\n")
    draft.replace(TABLE, r"std::array<PolicySet, (\d+)>",
                  lambda m: f"std::array<PolicySet, {int(m[1]) + 1}>", "the table's size")
    draft.box("write the order and its head comment, and a test that a user would recognise")
    draft.box("say in the row's summary what it does")
    draft.box("./dev build test_core_sched && ./dev sim")
