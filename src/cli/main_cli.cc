#include "cli/main_cli.h"

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "cli/exit_code.h"
#include "cli/help.h"
#include "cli/verbs.h"

namespace keiko::cli {
namespace {

std::string login_name() {
  if (const passwd* entry = ::getpwuid(::geteuid()); entry != nullptr) return entry->pw_name;
  return "uid" + std::to_string(::geteuid());
}

/// The line as it was typed, cut at its parts.
struct Typed {
  std::string verb;
  std::vector<std::string> words;    ///< behind the verb, options before it included
  bool has_command = false;
  std::vector<std::string> command;  ///< behind "--"
};

/// Options for the connection may stand before the verb too: keiko --server HOST:PORT jobs.
Typed cut(const std::vector<std::string>& words) {
  Typed typed;
  size_t at = 0;
  std::vector<std::string> early;
  while (at < words.size() && words[at].starts_with("-") && words[at] != "--") {
    const bool takes_value = words[at] == "--server" || words[at] == "--state";
    early.push_back(words[at++]);
    if (takes_value && at < words.size()) early.push_back(words[at++]);
  }
  if (at < words.size()) typed.verb = words[at++];
  for (; at < words.size() && words[at] != "--"; ++at) typed.words.push_back(words[at]);
  typed.has_command = at < words.size();
  if (typed.has_command)
    typed.command.assign(words.begin() + static_cast<int64_t>(at) + 1, words.end());
  typed.words.insert(typed.words.begin(), early.begin(), early.end());
  return typed;
}

bool asks_for_help(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "-h" || word == "--help") return true;
  }
  return false;
}

int print_help(const std::vector<std::string>& names, const std::vector<Verb>& verbs,
               const Console& console) {
  if (names.empty()) {
    console.out(help_text(verbs, console));
    return kExitOk;
  }
  const Verb* verb = find_verb(verbs, names[0]);
  if (verb == nullptr) {
    console.hint("keiko: " + unknown_verb_text(verbs, names[0]));
    return kExitUsage;
  }
  console.out(verb_help_text(*verb, console));
  return kExitOk;
}

/// `asked`: whether a server had a say. RETURNS: the exit status.
int print_error(const Error& error, const std::string& who, bool asked, const Console& console) {
  // Problems of a job file come as lines that begin with "FILE:LINE:"; they need no other head.
  const bool located = !error.where.empty() && error.message.starts_with(error.where + ":") &&
                       !error.where.starts_with("-") && error.code == Code::kInvalidArgument &&
                       !asked;
  console.hint((located ? "" : who + ": ") + error.message);
  const bool of_the_line = error.code == Code::kInvalidArgument && !located && !asked;
  return of_the_line ? kExitUsage : exit_code_of(error);
}

int run_verb(const Verb& verb, Typed typed, const std::vector<Verb>& verbs,
             const Surroundings& around) {
  const Console& console = around.console;
  const std::string who = "keiko " + verb.name;
  OptionSet options;
  ServerChoice choice;
  const VerbRun run = verb.add_options(options);
  if (verb.asks_server) add_server_options(options, choice);
  if (typed.has_command && !verb.takes_command) {
    typed.words.insert(typed.words.end(), typed.command.begin(), typed.command.end());
  }
  if (const Done parsed = options.parse(typed.words); !parsed.ok()) {
    console.hint(who + ": " + parsed.error().message + "\nTry '" + who + " --help'");
    return kExitUsage;
  }
  Connection connection(choice, around.variable, around.dial);
  Invocation call{console,       connection,     verbs,          typed.has_command,
                  typed.command, around.current_directory, around.user, around.version,
                  around.variable};
  const Result<int> code = run(call);
  if (code.ok()) return *code;
  return print_error(code.error(), who, connection.is_used(), console);
}

}  // namespace

int run_cli(const std::vector<std::string>& words, const Surroundings& around,
            std::vector<Verb> extra) {
  std::vector<Verb> verbs = client_verbs();
  verbs.insert(verbs.end(), std::make_move_iterator(extra.begin()),
               std::make_move_iterator(extra.end()));
  Typed typed = cut(words);
  if (typed.verb.empty()) {
    if (words.size() == 1 && words[0] == "--version") {
      console_version(around.console, around.version);
      return kExitOk;
    }
    if (!words.empty() && !asks_for_help(words)) {
      around.console.hint("keiko: no verb in the command line; `keiko help` lists them");
      return kExitUsage;
    }
    return print_help({}, verbs, around.console);
  }
  if (typed.verb == "help") return print_help(typed.words, verbs, around.console);
  const Verb* verb = find_verb(verbs, typed.verb);
  if (verb == nullptr) {
    around.console.hint("keiko: " + unknown_verb_text(verbs, typed.verb));
    return kExitUsage;
  }
  if (verb->raw) return verb->raw(typed.words);
  if (asks_for_help(typed.words)) return print_help({verb->name}, verbs, around.console);
  return run_verb(*verb, std::move(typed), verbs, around);
}

namespace {

/// A descriptor 0, 1 or 2 that the caller closed would be the next file that is opened, a journal
/// or a connection, and answers would go there. What is put in its place can be neither read from
/// nor written to as intended, so that it is told.
void keep_standard_files() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    [[maybe_unused]] const int opened =  // the lowest that is free
        ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main_cli(int argc, char** argv, std::vector<Verb> extra, const std::string& version) {
  keep_standard_files();
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (!words.empty()) {
    // Raw verbs come before anything is set up: a shim is started once for each worker.
    const Verb* verb = find_verb(extra, words[0]);
    if (verb != nullptr && verb->raw) return verb->raw({words.begin() + 1, words.end()});
  }
  Surroundings around;
  around.console = process_console();
  around.variable = [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return std::string(value != nullptr ? value : "");
  };
  around.dial = [](const std::string& address) -> std::shared_ptr<Client> {
    ClientOptions options;
    options.address = address;
    return make_client(options);
  };
  std::error_code ignored;
  around.current_directory = std::filesystem::current_path(ignored).string();
  around.user = login_name();
  around.version = version;
  return run_cli(words, around, std::move(extra));
}

}  // namespace keiko::cli
