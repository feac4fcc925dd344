// keiko journal: what the server has recorded, carried out of its state directory or checked there.
#pragma once

#include "cli/verb.h"

namespace keiko::apps {

cli::Verb journal_verb();

}  // namespace keiko::apps
