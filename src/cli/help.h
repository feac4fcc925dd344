// `keiko help` and `keiko VERB --help`: grouped, short, with examples. Also the table of verbs in
// docs/cli.md.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/option_set.h"
#include "cli/verb.h"

namespace keiko::cli {

/// RETURNS: the verb of that name, or nullptr.
const Verb* find_verb(const std::vector<Verb>& verbs, const std::string& name);

/// RETURNS: the options of `verb`, those for the connection included, for reading only: their
/// targets are gone.
std::vector<Option> options_of(const Verb& verb);

/// Adds --server and --state, bound to `choice`.
void add_server_options(OptionSet& options, ServerChoice& choice);

std::string help_text(const std::vector<Verb>& verbs, const Console& console);
std::string verb_help_text(const Verb& verb, const Console& console);

/// RETURNS: a Markdown section for each verb that is not hidden, and the table of exit codes.
std::string cli_reference(const std::vector<Verb>& verbs);

/// RETURNS: "unknown verb 'jbos'; did you mean 'jobs'? ..."
std::string unknown_verb_text(const std::vector<Verb>& verbs, const std::string& name);

}  // namespace keiko::cli
