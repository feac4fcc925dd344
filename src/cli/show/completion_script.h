// Completion scripts, made from the table of verbs: every verb, option and choice, and the live
// names of jobs and nodes by asking `keiko jobs -o name` and `keiko nodes -o name`.
#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"

namespace keiko::cli {

std::string bash_script(const std::vector<Verb>& verbs);
std::string zsh_script(const std::vector<Verb>& verbs);

}  // namespace keiko::cli
