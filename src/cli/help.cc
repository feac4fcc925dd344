#include "cli/help.h"

#include <algorithm>

#include "base/text.h"
#include "cli/exit_code.h"

namespace keiko::cli {
namespace {

std::vector<std::string> groups_of(const std::vector<Verb>& verbs) {
  std::vector<std::string> groups;
  for (const Verb& verb : verbs) {
    const bool known = std::find(groups.begin(), groups.end(), verb.group) != groups.end();
    if (!known && !verb.hidden) groups.push_back(verb.group);
  }
  return groups;
}

/// "[OPTIONS] ID... [-- COMMAND]"
std::string usage_of(const Verb& verb, const std::vector<Option>& options) {
  std::string usage = "keiko " + verb.name + " [OPTIONS]";
  for (const Option& option : options) {
    if (!option.positional) continue;
    const std::string word = option.value + (option.repeated ? "..." : "");
    usage += option.required ? " " + word : " [" + word + "]";
  }
  if (verb.takes_command) usage += " [-- COMMAND [ARGUMENT...]]";
  return usage;
}

/// "-o, --output FORMAT"
std::string left_side(const Option& option) {
  std::string names;
  for (const std::string& name : split(option.names, ','))
    names += (names.empty() ? "" : ", ") + name;
  if (!names.starts_with("-") || names.starts_with("--")) names = "    " + names;
  return names + (option.value.empty() ? "" : " " + option.value);
}

std::string right_side(const Option& option) {
  const bool shown = option.choices.empty() || option.value.find('|') != std::string::npos;
  return option.help + (shown ? "" : " (" + join(option.choices, ", ") + ")");
}

/// `text` behind `indent` columns, broken at blanks.
std::string wrapped(const std::string& text, size_t indent, size_t width) {
  std::string out;
  size_t column = indent;
  for (const std::string& word : split(text, ' ')) {
    const size_t size = display_width(word);
    if (column > indent && column + 1 + size > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += size;
  }
  return out;
}

std::string padded(const std::string& text, size_t width) {
  const size_t used = display_width(text);
  return used < width ? text + std::string(width - used, ' ') : text;
}

void list_options(const std::vector<Option>& options, const Console& console, std::string& out) {
  const size_t width = std::clamp<size_t>(static_cast<size_t>(console.size().width), 60, 110);
  std::vector<std::string> groups;
  for (const Option& option : options) {
    if (option.positional) continue;
    const std::string group = option.group.empty() ? "Options" : option.group;
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }
  for (const std::string& group : groups) {
    out += "\n" + console.paint(Colour::kBold, group + ":") + "\n";
    for (const Option& option : options) {
      if (option.positional || (option.group.empty() ? "Options" : option.group) != group) continue;
      const std::string left = "  " + padded(left_side(option), 28) + "  ";
      out += left + wrapped(right_side(option), 32, width) + "\n";
    }
  }
}

/// With the blanks behind the longest name.
size_t name_width(const std::vector<Verb>& verbs) {
  size_t width = 0;
  for (const Verb& verb : verbs) {
    if (!verb.hidden) width = std::max(width, verb.name.size() + 2);
  }
  return width;
}

}  // namespace

const Verb* find_verb(const std::vector<Verb>& verbs, const std::string& name) {
  for (const Verb& verb : verbs) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

void add_server_options(OptionSet& options, ServerChoice& choice) {
  options.text("--server", "HOST:PORT", choice.server,
               "the server to ask; else KEIKO_SERVER, else the one that runs on this machine")
      .group = "Connection";
  Option& state =
      options.text("--state", "DIR", choice.state,
                   "where the server of this machine keeps its state; else KEIKO_STATE");
  state.group = "Connection";
  state.completes = Completes::kDirectory;
}

std::vector<Option> options_of(const Verb& verb) {
  OptionSet options;
  ServerChoice choice;
  VerbRun run;
  if (verb.add_options) run = verb.add_options(options);
  if (verb.asks_server) add_server_options(options, choice);
  std::vector<Option> copies = options.options();
  for (Option& option : copies) option.set = nullptr;
  return copies;
}

std::string help_text(const std::vector<Verb>& verbs, const Console& console) {
  std::string out =
      "keiko: one pool out of any machines with accelerators, and jobs that survive it\n\n"
      "usage: keiko VERB [OPTIONS] ...\n";
  for (const std::string& group : groups_of(verbs)) {
    out += "\n" + console.paint(Colour::kBold, group + ":") + "\n";
    for (const Verb& verb : verbs) {
      if (verb.group == group && !verb.hidden)
        out += "  " + padded(verb.name, name_width(verbs)) + verb.summary + "\n";
    }
  }
  return out + "\nFirst steps:\n"
               "  keiko up --nodes 3 --devices-per-node 2    a pool on this machine\n"
               "  keiko run --workers 2 -- python3 train.py  run something on it\n"
               "  keiko VERB --help                          more about one verb\n";
}

std::string verb_help_text(const Verb& verb, const Console& console) {
  const std::vector<Option> options = options_of(verb);
  std::string out = verb.summary + ".\n\nusage: " + usage_of(verb, options) + "\n";
  if (!verb.about.empty()) out += "\n" + wrapped(verb.about, 0, 90) + "\n";
  if (!verb.examples.empty()) out += "\n" + console.paint(Colour::kBold, "Examples:") + "\n";
  for (const std::string& example : verb.examples) out += "  " + example + "\n";
  bool heading = false;
  for (const Option& option : options) {
    if (!option.positional) continue;
    if (!heading) out += "\n" + console.paint(Colour::kBold, "Arguments:") + "\n";
    heading = true;
    out += "  " + padded(option.value, 12) + right_side(option) + "\n";
  }
  list_options(options, console, out);
  return out;
}

std::string cli_reference(const std::vector<Verb>& verbs) {
  std::string out = "| exit status | meaning |\n|---|---|\n";
  for (const ExitCodeRow& row : exit_codes()) {
    out += "| " + std::to_string(row.code) + " | " + row.meaning + " |\n";
  }
  for (const std::string& group : groups_of(verbs)) {
    out += "\n## " + group + "\n";
    for (const Verb& verb : verbs) {
      if (verb.group != group || verb.hidden) continue;
      const std::vector<Option> options = options_of(verb);
      out +=
          "\n### `" + usage_of(verb, options) + "`\n\n" + verb.summary + ". " + verb.about + "\n";
      while (out.ends_with(" \n")) out.erase(out.size() - 2, 1);
      if (!verb.examples.empty()) out += "\n";
      for (const std::string& example : verb.examples) out += "    " + example + "\n";
      std::string rows;
      for (const Option& option : options) {
        if (option.group == "Connection" || option.group == "Job" ||
            option.group == "Resources of each worker" || option.positional) {
          continue;
        }
        std::string left = left_side(option);
        left.erase(0, left.find_first_not_of(' '));
        rows += "| `" + left + "` | " + right_side(option) + " |\n";
      }
      if (!rows.empty()) out += "\n| option | meaning |\n|---|---|\n" + rows;
    }
  }
  return out;
}

std::string unknown_verb_text(const std::vector<Verb>& verbs, const std::string& name) {
  std::vector<std::string> names = {"help"};
  for (const Verb& verb : verbs) {
    if (!verb.hidden) names.push_back(verb.name);
  }
  const std::string near = nearest_word(name, names);
  return "unknown verb '" + printable(name) + "'" +
         (near.empty() ? "" : "; did you mean '" + near + "'?") + "\n`keiko help` lists the verbs";
}

}  // namespace keiko::cli
