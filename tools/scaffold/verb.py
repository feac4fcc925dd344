"""./dev new verb: one verb, one file, one row in the table of src/cli/verbs.cc."""
import re

from .draft import ScaffoldError, pascal

TABLE = "src/cli/verbs.cc"
HEADER = "src/cli/verbs.h"

FILE = """// `keiko {word}`: say what it does for its user, and what it exits with.
#include "cli/verbs.h"

namespace keiko::cli {{
namespace {{

struct Given {{
  std::string job;
}};

VerbRun add_options(OptionSet& options) {{
  auto given = std::make_shared<Given>();
  options.positional("ID", given->job, "the job").completes = Completes::kJob;
  return [given](Invocation&) -> Result<int> {{
    return Error{{Code::kUnimplemented, "keiko {word} is not written yet", {{}}}};
  }};
}}

}}  // namespace

Verb verb_{name}() {{
  Verb verb;
  verb.name = "{word}";
  verb.group = "Jobs";
  verb.summary = "Say in a phrase what it does";
  verb.examples = {{"keiko {word} j12"}};
  verb.add_options = add_options;
  return verb;
}}

}}  // namespace keiko::cli
"""

TEST = """#include <gtest/gtest.h>

#include "cli/verbs.h"

namespace keiko::cli {{
namespace {{

TEST({type}Verb, is_in_the_table_and_takes_a_job) {{
  for (const Verb& verb : client_verbs()) {{
    if (verb.name != "{word}") continue;
    OptionSet options;
    const VerbRun run = verb.add_options(options);
    EXPECT_TRUE(options.parse({{"j12"}}).ok());
    return;
  }}
  FAIL() << "client_verbs() has no {word}";
}}

}}  // namespace
}}  // namespace keiko::cli
"""


def scaffold(draft, name):
    if re.search(rf"\bverb_{name}\(\)", draft.text(HEADER)):
        raise ScaffoldError(f"{HEADER} has a verb {name} already")
    words = {"name": name, "word": name.replace("_", "-"), "type": pascal(name)}
    draft.new_file(f"src/cli/verbs/verb_{name}.cc", FILE.format(**words))
    draft.new_file(f"src/cli/verbs/verb_{name}_test.cc", TEST.format(**words))
    draft.row_before(HEADER, r"^\}  // namespace keiko::cli", f"Verb verb_{name}();\n")
    draft.replace(HEADER, rf"\n\nVerb verb_{name}\(\);\n", f"\nVerb verb_{name}();\n\n",
                  f"Verb verb_{name}()")
    draft.row_before(TABLE, r"// new verbs above this line", f"      verb_{name}(),\n")
    draft.box("summary, examples, options; what it does, with a test that runs it on a fake server")
    draft.box("its exit codes are the usual ones (src/cli/exit_code.h), or its `about` says so")
    draft.box("docs/cli.md: the verb's line")
