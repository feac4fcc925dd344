#include "cli/show/completion_script.h"

#include "base/text.h"
#include "cli/help.h"

namespace keiko::cli {
namespace {

/// What a value is completed with, in the words of the scripts' own `_keiko_value`.
std::string source_of(const Option& option) {
  switch (option.completes) {
    case Completes::kFile: return "file";
    case Completes::kDirectory: return "dir";
    case Completes::kJob: return "job";
    case Completes::kNode: return "node";
    case Completes::kChoices: return "words " + join(option.choices, " ");
    case Completes::kNothing: break;
  }
  return "nothing";
}

struct VerbWords {
  std::string name;
  std::string summary;
  std::string flags;                          ///< all option names
  std::vector<std::pair<std::string, std::string>> values;  ///< "--kind|-k" to its source
  std::string positional = "nothing";
  bool takes_command = false;
};

std::vector<VerbWords> words_of(const std::vector<Verb>& verbs) {
  std::vector<VerbWords> all;
  for (const Verb& verb : verbs) {
    if (verb.hidden || verb.raw) continue;
    VerbWords words{verb.name, verb.summary, "--help", {}, "nothing", verb.takes_command};
    for (const Option& option : options_of(verb)) {
      if (option.positional) {
        words.positional = source_of(option);
        continue;
      }
      for (const std::string& name : split(option.names, ',')) {
        if (name.starts_with("--")) words.flags += " " + name;
      }
      if (!option.value.empty()) {
        words.values.emplace_back(join(split(option.names, ','), "|"), source_of(option));
      }
    }
    all.push_back(std::move(words));
  }
  return all;
}

std::string names_of(const std::vector<VerbWords>& all) {
  std::string names = "help";
  for (const VerbWords& words : all) names += " " + words.name;
  return names;
}

/// For single quotes of a shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Sets `source`, `flags` and `command` for the verb and the word before; the same in both shells.
std::string table_of(const std::vector<VerbWords>& all) {
  std::string out = "  case \"$verb\" in\n";
  for (const VerbWords& words : all) {
    out += "    " + words.name + ")\n      flags=" + quoted(words.flags) + "\n";
    if (words.takes_command) out += "      command=yes\n";
    out += "      source=" + quoted(words.positional) + "\n";
    if (!words.values.empty()) {
      out += "      case \"$before\" in\n";
      for (const auto& [names, source] : words.values) {
        out += "        " + names + ") source=" + quoted(source) + "; value=yes ;;\n";
      }
      out += "      esac\n";
    }
    out += "      ;;\n";
  }
  return out + "    help) source=" + quoted("words " + names_of(all)) + " ;;\n  esac\n";
}

}  // namespace

std::string bash_script(const std::vector<Verb>& verbs) {
  const std::vector<VerbWords> all = words_of(verbs);
  return "# bash completion for keiko; source <(keiko completion bash)\n"
         "_keiko() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local verb=${COMP_WORDS[1]} source=nothing flags= value= command= at\n"
         "  COMPREPLY=()\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W " +
         quoted(names_of(all)) +
         " -- \"$word\"))\n"
         "    return\n"
         "  fi\n" +
         table_of(all) +
         "  for ((at = 2; at < COMP_CWORD; at++)); do\n"
         "    if [ \"${COMP_WORDS[at]}\" = -- ] && [ -n \"$command\" ]; then\n"
         "      compopt -o default 2>/dev/null\n"
         "      COMPREPLY=($(compgen -c -- \"$word\"))\n"
         "      return\n"
         "    fi\n"
         "  done\n"
         "  if [ -z \"$value\" ] && [[ \"$word\" == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case \"$source\" in\n"
         "    file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
         "    dir) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- \"$word\")) ;;\n"
         "    job) COMPREPLY=($(compgen -W \"$(keiko jobs -o name 2>/dev/null)\" -- \"$word\")) "
         ";;\n"
         "    node) COMPREPLY=($(compgen -W \"$(keiko nodes -o name 2>/dev/null)\" -- \"$word\")) "
         ";;\n"
         "    words*) COMPREPLY=($(compgen -W \"${source#words }\" -- \"$word\")) ;;\n"
         "  esac\n"
         "}\n"
         "complete -F _keiko keiko\n";
}

std::string zsh_script(const std::vector<Verb>& verbs) {
  const std::vector<VerbWords> all = words_of(verbs);
  std::string described;
  for (const VerbWords& words : all) {
    std::string summary = words.summary;
    for (char& c : summary) {
      if (c == ':') c = ',';
    }
    described += "    " + quoted(words.name + ":" + summary) + "\n";
  }
  return "#compdef keiko\n"
         "# zsh completion for keiko; put it as _keiko into a folder of $fpath\n"
         "_keiko() {\n"
         "  local word=${words[CURRENT]} before=${words[CURRENT-1]} verb=${words[2]}\n"
         "  local source=nothing flags= value= command= at\n"
         "  local -a verbs=(\n" + described + "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe verb verbs\n"
         "    return\n"
         "  fi\n" + table_of(all) +
         "  for ((at = 3; at < CURRENT; at++)); do\n"
         "    if [[ \"${words[at]}\" == -- && -n \"$command\" ]]; then\n"
         "      _command_names; _files\n"
         "      return\n"
         "    fi\n"
         "  done\n"
         "  if [[ -z \"$value\" && \"$word\" == -* ]]; then\n"
         "    compadd -- ${=flags}\n"
         "    return\n"
         "  fi\n"
         "  case \"$source\" in\n"
         "    file) _files ;;\n"
         "    dir) _files -/ ;;\n"
         "    job) compadd -- ${(f)\"$(keiko jobs -o name 2>/dev/null)\"} ;;\n"
         "    node) compadd -- ${(f)\"$(keiko nodes -o name 2>/dev/null)\"} ;;\n"
         "    words*) compadd -- ${=source#words } ;;\n"
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _keiko ]; then _keiko \"$@\"; else compdef _keiko keiko; fi\n";
}

}  // namespace keiko::cli
