#include "cli/job/job_fields.h"

#include <algorithm>

#include "cli/units.h"

namespace keiko::cli {
namespace {

using Spec = JobSpec;

std::vector<JobField> make_fields() {
  using enum FieldType;
  return {
      {"", "name", "name", kLabel, &Spec::name,
       "what people call the job; made from the command if it is left out", "gpt-small"},
      {"",
       "kind",
       "kind",
       kChoice,
       &Spec::kind,
       "`train` for programs that step and checkpoint, `batch` for the rest",
       "train",
       0,
       0,
       {"batch", "train"}},
      {"", "queue", "queue", kLabel, &Spec::queue, "the queue that the job is charged to",
       "default"},
      {"", "priority", "priority", kInteger, &Spec::priority, "higher goes first", "10", -1000,
       1000},
      {"", "command", "command", kCommand, &Spec::command,
       "the program and its arguments as a list, or one text that `sh -c` runs",
       "[python3, train.py, --lr, 3e-4]"},
      {"", "env", "env", kTextMap, &Spec::env,
       "variables for every worker; they win over those that Keiko sets", "{OMP_NUM_THREADS: 1}"},
      {"", "workdir", "workdir", kPath, &Spec::workdir,
       "absolute directory to start in; the submitter's if it is left out", "/data/runs/gpt"},
      {"", "workers", "workers", kInteger, &Spec::workers,
       "how many processes; they start and stop together", "2", 1, kMaxWorkers},
      {"", "one_node", "one_node", kFlag, &Spec::one_node, "all workers on one node", "true"},
      {"", "node_labels", "node_labels", kTextMap, &Spec::node_labels,
       "only nodes that carry all of these labels", "{zone: a}"},
      {"resources", "devices", "devices", kInteger, &Spec::devices, "accelerators for each worker",
       "1", 0, kMaxDevicesPerWorker},
      {"resources", "device_kind", "device_kind", kText, &Spec::device_kind,
       "only devices of this kind (`keiko devices` lists them)", "h100"},
      {"resources", "device_memory", "device_memory", kBytes, &Spec::device_memory,
       "at least this much memory on each device", "40GiB"},
      {"resources", "cpu", "cpu_milli", kCores, &Spec::cpu_milli, "cores for each worker", "4"},
      {"resources", "memory", "memory", kBytes, &Spec::memory,
       "memory for each worker; 0 reserves and limits nothing", "16GiB"},
      {"", "restarts", "restarts", kInteger, &Spec::restarts,
       "how often the job may fail by its own fault and start again; left out, 3 for `kind: train` "
       "and 0 for `batch`",
       "3", 0, 1'000'000},
      {"", "infra_restarts", "infra_restarts", kInteger, &Spec::infra_restarts,
       "how often nodes and devices may fail under it", "20", 0, 1'000'000},
      {"", "grace", "grace", kDuration, &Spec::grace, "time between SIGTERM and SIGKILL", "30s"},
      {"", "time_limit", "time_limit", kDuration, &Spec::time_limit,
       "how long one start of the job may run; one that takes longer ends it for good; 0 is no "
       "limit",
       "12h"},
      {"", "log_limit", "log_limit", kBytes, &Spec::log_limit,
       "size of each log of each worker before it is cut", "1GiB"},
      {"", "checkpoint_dir", "checkpoint_dir", kPath, &Spec::checkpoint_dir,
       "told to the program as KEIKO_CHECKPOINT_DIR", "/data/checkpoints/gpt"},
      {"", "image", "image", kPath, &Spec::image,
       "root file system for the workers: a folder, or an OCI archive or layout, that every node "
       "can read (docs/images.md); the node's own if it is left out",
       "/data/images/torch.tar"},
      {"", "mounts", "mounts", kMounts, &Spec::mounts,
       "folders of the node that workers in an image see, `SOURCE:TARGET` or `SOURCE:TARGET:ro`, "
       "or `{source, target, read_only}`",
       "[\"/data:/data:ro\"]"},
      {"", "slurm_env", "slurm_env", kFlag, &Spec::slurm_env,
       "also set Slurm's variables (SLURM_*)", "true"},
  };
}

template <class... Ts>
struct Overload : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overload(Ts...) -> Overload<Ts...>;

bool is_whole_number(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Error expected(const JobField& field, std::string_view text) {
  return invalid_argument(quote_text(text) + " is not " + expected_value(field));
}

Result<int64_t> read_integer(const JobField& field, std::string_view text) {
  if (!is_whole_number(text)) return expected(field, text);
  const bool negative = text[0] == '-';
  uint64_t size = 0;
  const bool fits = parse_digits(text.substr(text[0] == '-' || text[0] == '+' ? 1 : 0), size);
  const int64_t value = fits ? static_cast<int64_t>(size) * (negative ? -1 : 1) : 0;
  if (!fits || value < field.low || value > field.high) {
    return invalid_argument(std::string(text) + " is out of range; it must be " +
                            std::to_string(field.low) + " to " + std::to_string(field.high));
  }
  return value;
}

/// "2", "0.5", "500m". At most three decimals, since a job is given thousandths of a core.
Result<int64_t> read_cores(const JobField& field, std::string_view text) {
  double number = 0;
  const size_t used = scan_number(text, number);
  const std::string_view rest = text.substr(used);
  if (used == 0 || (!rest.empty() && rest != "m")) return expected(field, text);
  const double milli = rest == "m" ? number : number * 1000;
  if (milli > 1e9)
    return invalid_argument(std::string(text) + " is more cores than any machine has");
  const int64_t whole = static_cast<int64_t>(milli + 0.5);
  if (milli - static_cast<double>(whole) > 1e-6 || static_cast<double>(whole) - milli > 1e-6) {
    return invalid_argument(std::string(text) + " is finer than a thousandth of a core");
  }
  return whole;
}

Result<bool> read_flag(const JobField& field, std::string_view text) {
  if (text == "true" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "no" || text == "off") return false;
  return expected(field, text);
}

Result<JobKind> read_kind(const JobField& field, std::string_view text) {
  if (text == "batch") return JobKind::kBatch;
  if (text == "train") return JobKind::kTrain;
  const std::string near = nearest_word(text, field.choices);
  return invalid_argument(quote_text(text) + " is not " + expected_value(field) +
                          (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

std::string exact_text(Bytes bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes.count == 0) return "0";
  int unit = 0;
  int64_t count = bytes.count;
  while (count % 1024 == 0 && unit < 5) {
    count /= 1024;
    ++unit;
  }
  return std::to_string(count) + kUnits[unit];
}

std::string exact_text(Duration duration) {
  struct Unit { int64_t ns; const char* name; };
  static constexpr Unit kUnits[] = {{3'600'000'000'000, "h"}, {60'000'000'000, "m"},
                                    {1'000'000'000, "s"},     {1'000'000, "ms"},
                                    {1'000, "us"},            {1, "ns"}};
  if (duration.ns == 0) return "0s";
  for (const Unit& unit : kUnits) {
    if (duration.ns % unit.ns == 0) return std::to_string(duration.ns / unit.ns) + unit.name;
  }
  return {};
}

std::string cores_text(int64_t milli) {
  return milli % 1000 == 0 ? std::to_string(milli / 1000) : std::to_string(milli) + "m";
}

}  // namespace

std::string JobField::flag() const {
  std::string out = "--" + key;
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

const std::vector<JobField>& job_fields() {
  static const std::vector<JobField> fields = make_fields();
  return fields;
}

const std::vector<std::string>& job_sections() {
  static const std::vector<std::string> sections = {"resources"};
  return sections;
}

const JobField* find_job_field(std::string_view section, std::string_view key) {
  for (const JobField& field : job_fields()) {
    if (field.section == section && field.key == key) return &field;
  }
  return nullptr;
}

const JobField* find_job_field_by_name(std::string_view where) {
  for (const JobField& field : job_fields()) {
    if (field.key == where || field.spec_name == where) return &field;
  }
  return nullptr;
}

Done set_field(const JobField& field, std::string_view text, JobSpec& spec) {
  return std::visit(
      Overload{
          [&](std::string Spec::*member) -> Done {
            spec.*member = text;
            return done();
          },
          [&](int32_t Spec::*member) -> Done {
            spec.*member = static_cast<int32_t>(TRY(read_integer(field, text)));
            return done();
          },
          [&](int64_t Spec::*member) -> Done {
            spec.*member = TRY(read_cores(field, text));
            return done();
          },
          [&](bool Spec::*member) -> Done {
            spec.*member = TRY(read_flag(field, text));
            return done();
          },
          [&](JobKind Spec::*member) -> Done {
            spec.*member = TRY(read_kind(field, text));
            return done();
          },
          [&](Bytes Spec::*member) -> Done {
            spec.*member = TRY(read_bytes(text));
            return done();
          },
          [&](Duration Spec::*member) -> Done {
            spec.*member = TRY(read_duration(text));
            return done();
          },
          [&](auto) -> Done { return internal_error(field.path() + " is not a single value"); },
      },
      field.member);
}

std::string field_text(const JobField& field, const JobSpec& spec) {
  return std::visit(
      Overload{
          [&](std::string Spec::*member) { return spec.*member; },
          [&](int32_t Spec::*member) {
            // Below its lowest value a field is left to something else (kByKind), so it says
            // nothing.
            return spec.*member < field.low ? "" : std::to_string(spec.*member);
          },
          [&](int64_t Spec::*member) { return cores_text(spec.*member); },
          [&](bool Spec::*member) { return std::string(spec.*member ? "true" : "false"); },
          [&](JobKind Spec::*member) { return to_text(spec.*member); },
          [&](Bytes Spec::*member) { return exact_text(spec.*member); },
          [&](Duration Spec::*member) { return exact_text(spec.*member); },
          [&](auto) { return std::string(); },
      },
      field.member);
}

void reset_field(const JobField& field, JobSpec& spec) {
  const JobSpec fresh;
  std::visit([&](auto member) { spec.*member = fresh.*member; }, field.member);
}

bool is_default(const JobField& field, const JobSpec& spec) {
  const JobSpec fresh;
  return std::visit([&](auto member) { return spec.*member == fresh.*member; }, field.member);
}

std::string expected_value(const JobField& field) {
  switch (field.type) {
    case FieldType::kText: return "text";
    case FieldType::kLabel: return "a name of a-z, 0-9 and '-'";
    case FieldType::kPath: return "a path";
    case FieldType::kChoice: return "one of " + join(field.choices, ", ");
    case FieldType::kInteger:
      return "a whole number from " + std::to_string(field.low) + " to " +
             std::to_string(field.high);
    case FieldType::kCores: return "a number of cores, such as 2, 0.5 or 500m";
    case FieldType::kBytes: return "a size with a unit, such as 16GiB";
    case FieldType::kDuration: return "a time with a unit, such as 90s or 1h30m";
    case FieldType::kFlag: return "true or false";
    case FieldType::kCommand: return "a list of words, or a text for sh -c";
    case FieldType::kTextMap: return "a map of names to texts";
    case FieldType::kMounts: return "a list of mounts, such as [\"/data:/data:ro\"]";
  }
  return {};
}

std::vector<std::string> shell_command(const std::string& text) { return {"sh", "-c", text}; }

std::string name_from_command(const std::vector<std::string>& command) {
  static const std::vector<std::string> kRunners = {"python", "python3", "bash", "sh",  "env",
                                                    "node",   "perl",    "ruby", "exec"};
  // `python3 -u train.py` is about train.py, not about python.
  std::string chosen;
  bool from_runner = false;
  for (const std::string& word : command) {
    const std::string leaf = word.substr(word.find_last_of('/') + 1);
    if (chosen.empty()) {
      chosen = leaf;
      from_runner = std::find(kRunners.begin(), kRunners.end(), leaf) != kRunners.end();
    } else if (from_runner && !word.empty() && word[0] != '-' &&
               word.find('=') == std::string::npos) {
      // sh -c "cd x && y": the first word of the text says more than "sh".
      const std::string first = word.substr(0, word.find_first_of(" \t\n;"));
      chosen = first.substr(first.find_last_of('/') + 1);
      break;
    } else if (!from_runner) {
      break;
    }
  }
  const size_t dot = chosen.find_last_of('.');
  if (dot != std::string::npos && dot > 0) chosen.resize(dot);
  std::string name;
  for (const char c : chosen) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool word = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (word) name += lower;
    else if (!name.empty() && name.back() != '-') name += '-';
    if (name.size() == 40) break;
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "job" : name;
}

}  // namespace keiko::cli
