// keiko completion: scripts that let bash and zsh complete verbs, options, choices, jobs and nodes.
#include <memory>

#include "cli/exit_code.h"
#include "cli/help.h"
#include "cli/show/completion_script.h"
#include "cli/verbs.h"

namespace keiko::cli {

Verb verb_completion() {
  Verb verb;
  verb.name = "completion";
  verb.group = "Other";
  verb.summary = "Print a completion script for bash or zsh";
  verb.examples = {"source <(keiko completion bash)",
                   "keiko completion zsh > ~/.zfunc/_keiko    # a folder of $fpath"};
  verb.asks_server = false;
  verb.add_options = [](OptionSet& options) -> VerbRun {
    auto shell = std::make_shared<std::string>();
    Option& option = options.positional("SHELL", *shell, "for which shell");
    option.choices = {"bash", "zsh"};
    option.completes = Completes::kChoices;
    return [shell](Invocation& call) -> Result<int> {
      call.console.out(*shell == "bash" ? bash_script(call.verbs) : zsh_script(call.verbs));
      return kExitOk;
    };
  };
  return verb;
}

}  // namespace keiko::cli
