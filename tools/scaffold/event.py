"""./dev new event: a durable event, its apply and a test."""
import re

from .draft import ScaffoldError, pascal

HEADER = "src/core/state/event.h"
JOBS = "src/core/state/events/job_events.h"
POOL = "src/core/state/events/pool_events.h"
APPLIES = "src/core/state/derived.h"

STRUCT = """/// Say what happened, in the past tense.
struct {type} {{
  static constexpr uint32_t kKind = {kind};
  static constexpr const char* kName = "{name}";
  JobId job;
  template <class S, class V> static void fields(S& s, V&& v) {{ v(1, "job", s.job); }}
}};

"""

APPLY = """// What becomes of the state when {name} is journaled.
#include "core/state/derived.h"

namespace keiko {{

Done apply_body(State& state, Time at, const {type}& event) {{
  JobState* job = TRY(find_job(state, event.kName, event.job));
  add_timeline(*job, at, event.kName, event.kName);
  return done();
}}

}}  // namespace keiko
"""

TEST = """#include <gtest/gtest.h>

#include "core/state/event.h"

namespace keiko {{
namespace {{

TEST({type}, of_an_unknown_job_is_refused_and_changes_nothing) {{
  State state;
  const Digest before = digest_of(state);
  const Done refused = apply(state, StateEvent{{Time{{1}}, {type}{{JobId{{7}}}}}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(digest_of(state), before);
}}

}}  // namespace
}}  // namespace keiko
"""


def applied(line):
    """RETURNS: the event type that a declaration of apply_body takes."""
    return re.search(r"const (\w+)& event", line)[1]


def scaffold(draft, name):
    type_name = pascal(name)
    text = draft.text(JOBS) + draft.text(POOL)
    if re.search(rf'kName = "{name}"', text):
        raise ScaffoldError(f"there is an event {name} already: {JOBS}, {POOL}")
    kind = max(int(k) for k in re.findall(r"kKind = (\d+)", text)) + 1
    draft.row_before(JOBS, r"^}  // namespace keiko",
                     STRUCT.format(type=type_name, name=name, kind=kind))
    draft.replace(HEADER, r"(using StateBody =\s*std::variant<[^;]*?)>;",
                  lambda m: f"{m[1]},\n                 {type_name}>;",
                  f"StateBody with {type_name}")
    after = re.findall(r"^Done apply_body\(State& state, Time at, const \w+& event\);$",
                       draft.text(APPLIES), re.M)
    if not after:
        raise ScaffoldError(f"{APPLIES} declares no apply_body")
    draft.replace(APPLIES, re.escape(after[-1]),
                  lambda m: f"{m[0]}\n" + m[0].replace(applied(m[0]), type_name),
                  f"apply_body of {type_name}")
    draft.new_file(f"src/core/state/apply_{name}.cc", APPLY.format(type=type_name, name=name))
    draft.new_file(f"src/core/state/apply_{name}_test.cc", TEST.format(type=type_name))
    draft.box(f"is it not about a job? Then its struct belongs in {POOL}")
    draft.box("fields: one line each in fields(); tags are forever")
    draft.box(
        "apply: refuse what does not fit before anything is changed; a timeline entry, a test")
    draft.box("src/core/cluster: which command or observation leads to this event")
    draft.box("./dev sim: do the checkers still hold? A new rule goes to docs/INVARIANTS.md")
