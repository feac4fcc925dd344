// `keiko server`.
#pragma once

#include <string>

#include "cli/verb.h"

namespace keiko::apps {

cli::Verb server_verb(const std::string& version);

}  // namespace keiko::apps
