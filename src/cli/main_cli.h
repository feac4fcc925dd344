// The entry of `keiko`: words in, exit status out.
#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"

namespace keiko::cli {

/// Everything that main_cli() takes from the process; a test brings its own.
struct Surroundings {
  Console console;
  Variable variable;          ///< environment variables, "" if not set
  Dial dial;
  std::string current_directory;
  std::string user;
  std::string version;
};

/// The whole program. `extra` are the verbs of the daemons; the table is the client verbs and
/// these. RETURNS: the exit status.
int main_cli(int argc, char** argv, std::vector<Verb> extra, const std::string& version = "dev");

/// The same with other surroundings. `words` are those behind the program's name.
int run_cli(const std::vector<std::string>& words, const Surroundings& around,
            std::vector<Verb> extra);

}  // namespace keiko::cli
