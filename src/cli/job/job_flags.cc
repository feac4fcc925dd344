#include "cli/job/job_flags.h"

#include "cli/job/job_fields.h"

namespace keiko::cli {
namespace {

using TextMap = std::map<std::string, std::string>;

/// The word that stands for a value in the help.
std::string value_word(const JobField& field) {
  switch (field.type) {
    case FieldType::kText:
    case FieldType::kLabel: return "NAME";
    case FieldType::kPath: return "DIR";
    case FieldType::kChoice: return join(field.choices, "|");
    case FieldType::kInteger: return "N";
    case FieldType::kCores: return "CORES";
    case FieldType::kBytes: return "SIZE";
    case FieldType::kDuration: return "TIME";
    case FieldType::kFlag: return "";
    case FieldType::kCommand: return "TEXT";
    case FieldType::kTextMap: return "KEY=VALUE";
    case FieldType::kMounts: return "SOURCE:TARGET[:ro]";
  }
  return "VALUE";
}

Done set_pair(const JobField& field, const std::string& text, JobSpec& spec) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return invalid_argument(quote_text(text) + " is not KEY=VALUE");
  }
  auto& map = spec.*std::get<TextMap JobSpec::*>(field.member);
  map[text.substr(0, equals)] = text.substr(equals + 1);
  return done();
}

std::string absolute(const std::string& directory, const std::string& path) {
  const bool remote = path.find("://") != std::string::npos;  // refused later, as it was written
  if (path.empty() || path[0] == '/' || remote) return path;
  return directory + (directory.ends_with('/') ? "" : "/") + path;
}

/// One value as a flag gives it. Bad text is refused here, so that parse() can name the flag.
Done set_from_flag(const JobField& field, const std::string& text, JobSpec& spec) {
  if (field.type == FieldType::kTextMap) return set_pair(field, text, spec);
  if (field.type == FieldType::kMounts) {
    spec.mounts.push_back(TRY(parse_mount(text)));
    return done();
  }
  // An empty name would be made from the command, which is not what was asked for.
  if (field.type == FieldType::kLabel && text.empty()) return invalid_argument("is empty");
  if (field.type != FieldType::kCommand) return set_field(field, text, spec);
  if (trim(text).empty()) return invalid_argument("is empty");
  spec.command = shell_command(text);
  return done();
}

}  // namespace

void JobFlags::add_to(OptionSet& options) {
  for (const JobField& field : job_fields()) {
    Option option;
    option.names = field.flag();
    option.value = value_word(field);
    option.help = field.type == FieldType::kCommand
                      ? "a text that `sh -c` runs, instead of a command behind --"
                      : field.help;
    option.group = field.section.empty() ? "Job" : "Resources of each worker";
    option.choices = field.choices;
    option.repeated = field.type == FieldType::kTextMap || field.type == FieldType::kMounts;
    if (field.type == FieldType::kPath) option.completes = Completes::kDirectory;
    if (!field.choices.empty()) option.completes = Completes::kChoices;
    option.set = [this, &field](const std::string& text) -> Done {
      JobSpec trial;
      TRY(set_from_flag(field, text, trial));
      given_.push_back([&field, text](const std::string& directory, JobSpec& spec) {
        const bool path = field.type == FieldType::kPath;
        return set_from_flag(field, path ? absolute(directory, text) : text, spec);
      });
      return done();
    };
    options.add(std::move(option));
  }
}

Done JobFlags::apply(const std::string& current_directory, JobSpec& spec) const {
  for (const auto& set : given_) TRY(set(current_directory, spec));
  return done();
}

}  // namespace keiko::cli
