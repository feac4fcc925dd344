// `keiko drivers`.
#pragma once

#include "cli/verb.h"

namespace keiko::apps {

cli::Verb drivers_verb();

}  // namespace keiko::apps
