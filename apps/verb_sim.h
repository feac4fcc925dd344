// `keiko sim`.
#pragma once

#include "cli/verb.h"

namespace keiko::apps {

cli::Verb sim_verb();

}  // namespace keiko::apps
