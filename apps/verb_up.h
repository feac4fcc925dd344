// The verb `keiko up`, for the table of verbs.
#pragma once

#include "cli/verb.h"

namespace keiko::up {

cli::Verb up_verb();

}  // namespace keiko::up
