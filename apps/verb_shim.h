// `keiko shim`.
#pragma once

#include "cli/verb.h"

namespace keiko::apps {

cli::Verb shim_verb();
/// `keiko visit`.
cli::Verb visit_verb();

}  // namespace keiko::apps
