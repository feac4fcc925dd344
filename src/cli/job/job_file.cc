#include "cli/job/job_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <set>

#include "cli/job/job_fields.h"

namespace keiko::cli {
namespace {

/// Reads one document; collects problems instead of stopping at the first.
class JobReader {
 public:
  JobReading read(const YamlNode& root) {
    if (root.kind == YamlKind::kNull) {
      complain(root.mark, "is empty; the least a job needs is 'command: [program, argument]'");
    } else if (root.kind != YamlKind::kMap) {
      complain(root.mark,
               "is " + describe(root) + ", but a job is a map of keys such as 'command:'");
    } else {
      read_map(root, "");
      hold_against_rules(root);
    }
    std::stable_sort(out_.problems.begin(), out_.problems.end(),
                     [](const Problem& a, const Problem& b) { return a.mark < b.mark; });
    return std::move(out_);
  }

 private:
  void complain(Mark mark, std::string message) {
    out_.problems.push_back({mark, std::move(message)});
  }

  void read_map(const YamlNode& map, const std::string& section) {
    std::map<std::string, Mark> seen;
    for (const auto& [key, value] : map.entries) {
      if (key.kind != YamlKind::kScalar) {
        complain(key.mark, "a key must be a word, this is " + describe(key));
        continue;
      }
      const auto [first, fresh] = seen.emplace(key.text, key.mark);
      if (!fresh) {
        complain(key.mark, "key '" + key.text +
                               "' stands here a second time; the first is at line " +
                               std::to_string(first->second.line));
        continue;
      }
      read_entry(section, key, value);
    }
  }

  void read_entry(const std::string& section, const YamlNode& key, const YamlNode& value) {
    const std::vector<std::string>& sections = job_sections();
    const bool opens_section =
        section.empty() && std::find(sections.begin(), sections.end(), key.text) != sections.end();
    if (opens_section) {
      if (value.kind == YamlKind::kMap) {
        read_map(value, key.text);
      } else if (value.kind != YamlKind::kNull) {
        complain(value.mark,
                 key.text + ": is " + describe(value) + ", but should be a map of keys");
      }
      return;
    }
    if (const JobField* field = find_job_field(section, key.text)) {
      marks_[field->key] = value.mark;
      read_value(*field, value);
    } else {
      complain(key.mark, unknown_key(section, key.text));
    }
  }

  static std::string unknown_key(const std::string& section, const std::string& key) {
    const std::string what =
        "unknown key '" + key + "'" + (section.empty() ? "" : " in " + section);
    if (key == "<<") return what + "; merge keys are not supported, write the keys out";
    if (section.empty() && key == "user") {
      return what + "; the user is whoever submits the job";
    }
    for (const JobField& field : job_fields()) {
      if (field.key != key) continue;
      return what + "; '" + key + "' belongs " +
             (field.section.empty() ? "to the top level" : "under '" + field.section + ":'");
    }
    std::vector<std::string> here;
    std::vector<std::string> elsewhere;
    for (const JobField& field : job_fields()) {
      (field.section == section ? here : elsewhere).push_back(field.key);
    }
    if (section.empty()) here.insert(here.end(), job_sections().begin(), job_sections().end());
    std::string near = nearest_word(key, here);
    if (!near.empty()) return what + "; did you mean '" + near + "'?";
    near = nearest_word(key, elsewhere);
    if (near.empty()) return what + "; `keiko schema job` lists the keys";
    const JobField* field = find_job_field_by_name(near);
    return what + "; did you mean '" + field->path() + "'?";
  }

  void read_value(const JobField& field, const YamlNode& value) {
    if (field.type == FieldType::kCommand) {
      read_command(field, value);
    } else if (field.type == FieldType::kTextMap) {
      read_text_map(field, value);
    } else if (field.type == FieldType::kMounts) {
      read_mounts(field, value);
    } else if (value.kind != YamlKind::kScalar) {
      complain(value.mark, field.path() + ": is " + describe(value) + ", but should be " +
                               expected_value(field));
      broken_.insert(field.key);
    } else if (value.quoted && is_bare(field.type)) {
      complain(value.mark, field.path() + ": is the text " + describe(value) + ", but should be " +
                               expected_value(field) + "; take the quotes away");
      broken_.insert(field.key);
    } else if (const Done set = set_field(field, value.text, out_.spec); !set.ok()) {
      complain(value.mark, field.path() + ": " + set.error().message);
      broken_.insert(field.key);
    }
  }

  /// Numbers and flags are written without quotes; in quotes they are text.
  static bool is_bare(FieldType type) {
    return type == FieldType::kInteger || type == FieldType::kFlag;
  }

  void read_command(const JobField& field, const YamlNode& value) {
    if (value.kind == YamlKind::kScalar) {
      if (trim(value.text).empty()) {
        complain(value.mark, "command: is empty; give the program to run and its arguments");
        broken_.insert(field.key);
      } else {
        out_.spec.command = shell_command(value.text);
      }
      return;
    }
    if (value.kind != YamlKind::kList) {
      complain(value.mark, "command: is " + describe(value) + ", but should be " +
                               expected_value(field));
      broken_.insert(field.key);
      return;
    }
    for (const YamlNode& item : value.items) {
      if (item.kind != YamlKind::kScalar) {
        complain(item.mark, "command: this argument is " + describe(item) +
                                ", but should be a word; put odd words into quotes");
        broken_.insert(field.key);
        continue;
      }
      out_.spec.command.push_back(item.text);
    }
  }

  void read_text_map(const JobField& field, const YamlNode& value) {
    if (value.kind != YamlKind::kMap) {
      complain(value.mark, field.path() + ": is " + describe(value) + ", but should be " +
                               expected_value(field));
      return;
    }
    auto& map = out_.spec.*std::get<std::map<std::string, std::string> JobSpec::*>(field.member);
    for (const auto& [key, text] : value.entries) {
      if (key.kind != YamlKind::kScalar) {
        complain(key.mark, field.path() + ": a name must be a word, this is " + describe(key));
      } else if (text.kind != YamlKind::kScalar) {
        complain(text.mark, field.path() + "." + key.text + ": is " + describe(text) +
                                ", but should be a text; an empty text is \"\"");
      } else if (!map.emplace(key.text, text.text).second) {
        complain(key.mark, field.path() + ": '" + key.text + "' stands here a second time");
      }
    }
  }

  void read_mounts(const JobField& field, const YamlNode& value) {
    if (value.kind != YamlKind::kList) {
      complain(value.mark, "mounts: is " + describe(value) + ", but should be " +
                               expected_value(field));
      broken_.insert(field.key);
      return;
    }
    for (const YamlNode& item : value.items) {
      Mount mount;
      if (item.kind == YamlKind::kScalar) {
        const Result<Mount> read = parse_mount(item.text);
        if (read.ok()) mount = *read;
        else complain(item.mark, "mounts: " + read.error().message);
      } else {
        mount = read_mount_map(item);
      }
      if (mount.source.empty()) broken_.insert(field.key);
      out_.spec.mounts.push_back(std::move(mount));
    }
  }

  /// RETURNS: an empty one after a complaint.
  Mount read_mount_map(const YamlNode& item) {
    static const char* const kForm =
        "mounts: each is {source: PATH, target: PATH, read_only: true}";
    Mount mount;
    bool good = item.kind == YamlKind::kMap;
    for (const auto& [key, value] : item.entries) {
      const bool flag = value.text == "true" || value.text == "false";
      if (value.kind != YamlKind::kScalar) good = false;
      else if (key.text == "source") mount.source = value.text;
      else if (key.text == "target") mount.target = value.text;
      else if (key.text == "read_only" && flag) mount.read_only = value.text == "true";
      else good = false;
    }
    if (good && !mount.source.empty() && !mount.target.empty()) return mount;
    complain(item.mark, std::string(kForm) + "; this is " + describe(item));
    return {};
  }

  void hold_against_rules(const YamlNode& root) {
    for (const Error& objection : all_objections(out_.spec)) {
      const JobField* field = find_job_field_by_name(objection.where);
      const std::string key = field != nullptr ? field->key : objection.where;
      if (broken_.contains(key)) continue;  // said already, more precisely
      auto mark = marks_.find(key);
      // "devices: none asked for, but a kind is" is best shown where the kind is asked for.
      if (mark == marks_.end() && key == "devices") mark = marks_.find("device_kind");
      if (mark == marks_.end() && key == "devices") mark = marks_.find("device_memory");
      std::string message = objection.message;
      if (field != nullptr && !field->section.empty()) message = field->section + "." + message;
      complain(mark != marks_.end() ? mark->second : root.mark, std::move(message));
    }
  }

  JobReading out_;
  std::map<std::string, Mark> marks_;  ///< of each field's value, by key
  std::set<std::string> broken_;       ///< fields whose value could not be read
};

Result<std::string> read_small_file(const std::string& path) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    Error error = errno_error("cannot read the job file " + path, errno);
    error.message += "; a command goes behind '--', as in: keiko run -- " + path;
    return error;
  }
  std::string text(kMaxYamlBytes + 1, '\0');
  const size_t size = std::fread(text.data(), 1, text.size(), file);
  const int failed = std::ferror(file) != 0 ? errno : 0;
  if (file != stdin) std::fclose(file);
  if (failed != 0) return errno_error("cannot read the job file " + path, failed);
  text.resize(size);
  return text;
}

void write_command(const std::vector<std::string>& command, std::string& out) {
  out += "command:";
  for (const std::string& word : command) out += "\n  - " + yaml_scalar(word);
  out += '\n';
}

void write_text_map(const std::string& key, const std::map<std::string, std::string>& map,
                    std::string& out) {
  out += key + ":\n";
  for (const auto& [name, value] : map)
    out += "  " + yaml_scalar(name) + ": " + yaml_scalar(value) + "\n";
}

void write_mounts(const std::vector<Mount>& mounts, std::string& out) {
  out += "mounts:\n";
  for (const Mount& mount : mounts) {
    out += "  - {source: " + yaml_scalar(mount.source) + ", target: " + yaml_scalar(mount.target) +
           (mount.read_only ? ", read_only: true}\n" : "}\n");
  }
}

void write_field(const JobField& field, const JobSpec& spec, std::string& out) {
  if (field.type == FieldType::kCommand) {
    write_command(spec.command, out);
  } else if (field.type == FieldType::kMounts) {
    write_mounts(spec.mounts, out);
  } else if (const auto* map =
                 std::get_if<std::map<std::string, std::string> JobSpec::*>(&field.member)) {
    write_text_map(field.key, spec.**map, out);
  } else {
    const std::string text = field_text(field, spec);
    const bool free_text = field.type == FieldType::kText || field.type == FieldType::kLabel ||
                           field.type == FieldType::kPath;
    out += (field.section.empty() ? "" : "  ") + field.key + ": " +
           (free_text ? yaml_scalar(text) : text) + "\n";
  }
}

}  // namespace

JobReading read_job(std::string_view text) {
  YamlReading reading = read_yaml(text);
  if (!reading.problems.empty()) return {JobSpec(), std::move(reading.problems)};
  return JobReader().read(reading.root);
}

Result<JobSpec> load_job_file(const std::string& path) {
  const std::string text = TRY(read_small_file(path));
  JobReading reading = read_job(text);
  if (reading.problems.empty()) return std::move(reading.spec);
  const std::string name = path == "-" ? "standard input" : path;
  return invalid_argument(problems_text(name, reading.problems), name);
}

std::string problems_text(const std::string& name, const std::vector<Problem>& problems) {
  std::string out;
  for (const Problem& problem : problems) {
    if (!out.empty()) out += '\n';
    out += name;
    if (problem.mark.line > 0) {
      out += ":" + std::to_string(problem.mark.line) + ":" + std::to_string(problem.mark.column);
    }
    out += ": " + problem.message;
  }
  return out;
}

std::vector<Error> all_objections(const JobSpec& spec) {
  // validate() stops at its first objection. Each one is cured with the default, and asked again.
  JobSpec rest = spec;
  if (rest.name.empty()) rest.name = "job";
  std::vector<Error> objections;
  for (size_t i = 0; i <= job_fields().size(); ++i) {
    const Done valid = validate(rest);
    if (valid.ok()) break;
    // What its field's default does not cure would be said for ever.
    if (!objections.empty() && objections.back().message == valid.error().message) break;
    objections.push_back(valid.error());
    const std::string& where = valid.error().where;
    if (where == "name") rest.name = "job";
    else if (where == "command") rest.command = {"true"};
    else if (where == "devices" && rest.devices == 0) rest.devices = 1;
    else if (const JobField* field = find_job_field_by_name(where)) reset_field(*field, rest);
    else break;
  }
  return objections;
}

std::string job_to_yaml(const JobSpec& spec) {
  std::string out;
  std::string section;
  for (const JobField& field : job_fields()) {
    if (is_default(field, spec)) continue;
    if (!field.section.empty() && field.section != section) out += field.section + ":\n";
    section = field.section;
    write_field(field, spec, out);
  }
  return out;
}

}  // namespace keiko::cli
