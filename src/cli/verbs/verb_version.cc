// keiko version: of this program and of the server.
#include <memory>

#include "cli/exit_code.h"
#include "cli/show/job_view.h"
#include "cli/show/output.h"
#include "cli/verbs.h"

namespace keiko::cli {
namespace {

struct Given {
  bool client_only = false;
  std::string format = "table";
};

Result<int> version(const Given& given, Invocation& call) {
  if (given.format == "table") console_version(call.console, call.version);
  if (given.client_only) return kExitOk;
  Client* const client = TRY(call.connection.client());
  const Result<v1::GetVersionResponse> server = client->get_version();
  if (!server.ok()) {
    // Without a server there is still an answer: the program's own version.
    if (given.format != "table") return server.error();
    call.console.hint("server: " + printable(server.error().message));
    return kExitOk;
  }
  if (given.format != "table") {
    call.console.out(message_text(*server, OutputChoice{given.format}));
    return kExitOk;
  }
  call.console.line("server " + server->version() + ", term " + std::to_string(server->term()) +
                    ", up since " + clock_text(server->started_at()));
  if (server->read_only())
    call.console.hint("server takes no writes now: " + printable(server->message()));
  return kExitOk;
}

}  // namespace

void console_version(const Console& console, const std::string& version) {
  console.line("keiko " + version);
}

Verb verb_version() {
  Verb verb;
  verb.name = "version";
  verb.group = "Other";
  verb.summary = "The version of this program and of the server";
  verb.add_options = [](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    options.flag("--client", given->client_only, "do not ask the server");
    Option& format =
        options.text("-o,--output", "FORMAT", given->format, "how to print the server's answer");
    format.choices = {"table", "json", "yaml"};
    format.completes = Completes::kChoices;
    return [given](Invocation& call) { return version(*given, call); };
  };
  return verb;
}

}  // namespace keiko::cli
