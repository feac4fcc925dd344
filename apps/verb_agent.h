// `keiko agent`.
#pragma once

#include <string>

#include "cli/verb.h"

namespace keiko::apps {

cli::Verb agent_verb(const std::string& version);

}  // namespace keiko::apps
