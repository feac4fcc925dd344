// Verb: one row of the table of verbs; everything that `keiko NAME ...` is follows from it:
// parsing, help, completion and docs/cli.md. apps/ appends the verbs of the daemons through the
// same type.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/connection.h"
#include "cli/console.h"
#include "cli/option_set.h"

namespace keiko::cli {

struct Verb;

/// What a verb finds when it runs. Valid until its run returns.
struct Invocation {
  const Console& console;
  Connection& connection;              ///< dials the server at its first use
  const std::vector<Verb>& verbs;      ///< the whole table
  bool has_command = false;            ///< "--" was given
  std::vector<std::string> command;    ///< the words behind "--"
  std::string current_directory;
  std::string user;                    ///< login name of who runs this
  std::string version;
  std::function<std::string(const std::string& name)> variable;  ///< "" if not set
};

/// RETURNS: the exit status, or an error that is printed and gives its exit status.
using VerbRun = std::function<Result<int>(Invocation&)>;

struct Verb {
  std::string name;
  std::string group;        ///< heading in `keiko help`: "Jobs", "Cluster", "Daemons", "Other"
  std::string summary;      ///< a phrase, capital first, no full stop
  std::vector<std::string> examples = {};   ///< whole commands
  std::string about = {};   ///< more sentences for `keiko NAME --help`, may be empty
  bool asks_server = true;  ///< has --server and --state for `connection`
  bool takes_command = false;  ///< words behind "--" are a command
  bool hidden = false;      ///< not in `keiko help`: for processes, not for people

  /// Declares the options and binds them to what the returned function keeps.
  ///   [](OptionSet& options) {
  ///     auto given = std::make_shared<Given>();
  ///     options.flag("-f,--follow", given->follow, "go on as more comes");
  ///     return [given](Invocation& call) -> Result<int> { ... };
  ///   }
  std::function<VerbRun(OptionSet& options)> add_options;

  /// If set, it gets all words behind the verb as they stand, and nothing else of this room runs:
  /// for processes that must start fast, such as the shim. add_options is not used then.
  std::function<int(const std::vector<std::string>& words)> raw;
};

}  // namespace keiko::cli
