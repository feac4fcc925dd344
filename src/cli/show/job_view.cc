#include "cli/show/job_view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/text.h"
#include "model/job.h"
#include "wire/convert.h"

namespace keiko::cli {
namespace {

using Status = std::string;

std::vector<std::string> strings(const google::protobuf::RepeatedPtrField<std::string>& field) {
  return {field.begin(), field.end()};
}

bool is_final_word(const Status& status) {
  return status == "COMPLETED" || status == "FAILED" || status == "CANCELLED";
}

bool has_place(const Status& status) {
  return status == "STARTING" || status == "RUNNING" || status == "REGROUPING" ||
         status == "PREEMPTING";
}

int workers_of(const v1::Job& job) { return job.spec().has_workers() ? job.spec().workers() : 1; }

/// Where it runs, or in brackets why it does not.
std::string where_text(const v1::Job& job) {
  const std::string nodes = nodes_text(strings(job.nodes()));
  if (has_place(job.status()) && !nodes.empty()) return nodes;
  if (job.status() == "COMPLETED") return nodes;
  return job.reason().empty() ? nodes : "(" + job.reason() + ")";
}

std::string progress_text(const v1::Job& job) {
  if (!job.has_progress() || job.progress().step() == 0) return "";
  const v1::Progress& progress = job.progress();
  if (progress.total_steps() <= 0) return "step " + grouped(progress.step());
  const double part =
      static_cast<double>(progress.step()) / static_cast<double>(progress.total_steps());
  return std::to_string(static_cast<int>(part * 100)) + "%";
}

std::string command_text(const v1::JobSpec& spec) {
  std::string out;
  for (const std::string& word : spec.command()) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$&|;<>()*?[]{}`~#!") ==
                                            std::string::npos;
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += (out.empty() ? "" : " ") + (plain ? word : quoted + "'");
  }
  return out;
}

/// "name   value" lines of one page.
class Page {
 public:
  explicit Page(const Console& console) : console_(console) {}

  void field(const std::string& name, const std::string& value, Colour colour = Colour::kPlain) {
    if (value.empty()) return;
    const std::string label = name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ');
    out_ += console_.paint(Colour::kDim, label) + console_.paint(colour, printable(value)) + "\n";
  }
  void heading(const std::string& text) {
    out_ += "\n" + console_.paint(Colour::kBold, text) + "\n";
  }
  void text(const std::string& text) { out_ += text; }
  std::string take() { return std::move(out_); }

 private:
  const Console& console_;
  std::string out_;
};

std::string resources_text(const v1::JobSpec& spec) {
  std::vector<std::string> parts;
  if (spec.devices() > 0) {
    std::string devices =
        std::to_string(spec.devices()) + (spec.devices() == 1 ? " device" : " devices");
    if (!spec.device_kind().empty()) devices += " of kind " + spec.device_kind();
    if (spec.device_memory() > 0)
      devices += " with " + to_text(Bytes{spec.device_memory()}) + " or more";
    parts.push_back(devices);
  }
  const double cores = static_cast<double>(spec.has_cpu_milli() ? spec.cpu_milli() : 1000) / 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%.4g cpu", cores);
  parts.emplace_back(text);
  if (spec.memory() > 0) parts.push_back(to_text(Bytes{spec.memory()}));
  return join(parts, ", ");
}

std::string when_text(const v1::Job& job, Time now) {
  std::string out = clock_text(job.submitted_at());
  const std::string age = age_of(job.submitted_at(), now);
  if (!age.empty()) out += " (" + age + " ago)";
  return out;
}

std::string run_time_text(const v1::Job& job, Time now) {
  if (!job.has_started_at()) return "";
  const Time end = job.has_ended_at() ? from_proto(job.ended_at()) : now;
  const Duration span = end - from_proto(job.started_at());
  return span < Duration{} ? "" : span_text(span);
}

std::string end_text(const v1::WorkerEnd& end) {
  if (end.cause() == "exited") return "exit " + std::to_string(end.exit_code());
  if (end.cause() == "signalled") return "signal " + std::to_string(end.signal());
  return end.cause();
}

void add_workers(const v1::Job& job, const Console& console, Page& page) {
  if (job.workers().empty()) return;
  page.heading("Workers");
  Table table{{{"RANK", true}, {"NODE"}, {"DEVICES"}, {"STATUS"}, {"STEP", true}, {"PID", true}},
              {}};
  for (const v1::Worker& worker : job.workers()) {
    std::vector<std::string> devices;
    for (const int32_t device : worker.devices()) devices.push_back(std::to_string(device));
    const bool ended = worker.status() == "ended";
    const std::string status = ended ? end_text(worker.end()) : worker.status();
    const bool bad = ended && status != "exit 0" && status != "stopped";
    table.rows.push_back(
        {std::to_string(worker.rank()), worker.node(), join(devices, ","),
         Cell(status, bad ? Colour::kRed : status == "running" ? Colour::kGreen : Colour::kPlain),
         worker.has_progress() ? grouped(worker.progress().step()) : "",
         worker.pid() != 0 ? std::to_string(worker.pid()) : ""});
  }
  page.text(table_text(table, {}, console));
}

bool ended_well(const v1::Worker& worker) {
  return worker.end().cause() == "exited" && worker.end().exit_code() == 0;
}

/// Of the first that failed; the others as a rule failed because of it. One that ended well has
/// words only if its output was lost.
void add_last_words(const v1::Job& job, Page& page) {
  const v1::Worker* shown = nullptr;
  for (const v1::Worker& worker : job.workers()) {
    if (!worker.has_end() || worker.end().last_words().empty()) continue;
    if (shown == nullptr || (ended_well(*shown) && !ended_well(worker))) shown = &worker;
  }
  if (shown == nullptr) return;
  page.heading("Last words of rank " + std::to_string(shown->rank()));
  for (const std::string& line : split(trim(shown->end().last_words()), '\n')) {
    page.text("  " + printable(line) + "\n");
  }
}

void add_timeline(const v1::Job& job, const Console& console, Page& page) {
  if (job.timeline().empty()) return;
  page.heading("Timeline");
  Table table{{{"AT"}, {"ATTEMPT", true}, {"WHAT"}, {"DETAIL", false, false, true}}, {}};
  for (const v1::TimelineEntry& entry : job.timeline()) {
    table.rows.push_back({clock_text(entry.at()),
                          entry.attempt() > 0 ? std::to_string(entry.attempt()) : "", entry.what(),
                          entry.text()});
  }
  page.text(table_text(table, {}, console));
}

void add_progress(const v1::Job& job, const Console& console, Page& page) {
  if (!job.has_progress()) return;
  const v1::Progress& progress = job.progress();
  std::string text = "step " + grouped(progress.step());
  if (progress.total_steps() > 0) {
    const double part =
        static_cast<double>(progress.step()) / static_cast<double>(progress.total_steps());
    text += " of " + grouped(progress.total_steps());
    if (console.terminal) text = bar_text(part, 30) + " " + text;
    text += " (" + std::to_string(static_cast<int>(part * 100)) + "%)";
  }
  char number[48];
  if (progress.loss() != 0) {
    std::snprintf(number, sizeof number, ", loss %.4f", progress.loss());
    text += number;
  }
  if (progress.tokens_per_s() > 0)
    text += ", " + short_number(progress.tokens_per_s()) + " tokens/s";
  page.field("Progress", text);
}

void add_faults(const v1::Job& job, Page& page) {
  const v1::JobSpec& spec = job.spec();
  const int own = spec.restarts();
  const int infra = spec.has_infra_restarts() ? spec.infra_restarts() : 20;
  if (job.user_faults() + job.infra_faults() == 0) return;
  page.field("Faults", std::to_string(job.user_faults()) + " of " + std::to_string(own) +
                           " its own, " + std::to_string(job.infra_faults()) + " of " +
                           std::to_string(infra) + " of the infrastructure");
  page.field("Avoids", nodes_text(strings(job.excluded())));
}

std::string cure_sentence(const std::string& cure) {
  static const std::map<std::string, std::string> sentences = {
      {"devices_freed", "a job ends and frees its devices"},
      {"node_joined", "a node joins: keiko agent --join HOST"},
      {"quarantine_ended", "a device or node comes back from quarantine (keiko health)"},
      {"node_returned", "a node comes back, or keiko uncordon NODE"},
      {"release", "it is released: keiko release ID"},
      {"time_passes", "time: it starts again by itself"},
      {"smaller_ask", "a smaller ask: fewer workers, fewer devices or another kind"},
  };
  const auto found = sentences.find(cure);
  return found != sentences.end() ? found->second : cure;
}

}  // namespace

std::string age_text(Duration span) {
  if (span < Duration{}) return "";
  const int64_t s = span.ns / 1'000'000'000;
  if (s < 120) return std::to_string(s) + "s";
  if (s < 120 * 60) return std::to_string(s / 60) + "m";
  if (s < 48 * 3600) return std::to_string(s / 3600) + "h";
  return std::to_string(s / 86400) + "d";
}

std::string span_text(Duration span) {
  const int64_t tenths = std::max<int64_t>(span.ns, 0) / 100'000'000;
  if (tenths == 0) return "0s";
  if (tenths < 10) return "0." + std::to_string(tenths) + "s";
  return to_text(seconds(tenths / 10));
}

std::string age_of(const google::protobuf::Timestamp& then, Time now) {
  if (then.seconds() == 0 && then.nanos() == 0) return "";
  return age_text(std::max(now - from_proto(then), Duration{}));
}

std::string clock_text(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0 && time.nanos() == 0) return "";
  std::string text = to_text(from_proto(time)).substr(0, 19);
  if (text.size() > 10) text[10] = ' ';
  return text;
}

Colour colour_of_status(const std::string& status) {
  if (status == "RUNNING" || status == "READY" || status == "COMPLETED") return Colour::kGreen;
  if (status == "FAILED" || status == "LOST" || status == "UNREACHABLE") return Colour::kRed;
  if (status == "CANCELLED") return Colour::kDim;
  return Colour::kYellow;
}

std::string nodes_text(const std::vector<std::string>& nodes) {
  // Numbers behind one stem, in runs: node[1-3,7].
  std::string stem;
  std::vector<int64_t> numbers;
  for (const std::string& node : nodes) {
    const size_t digits = node.find_last_not_of("0123456789") + 1;
    uint64_t number = 0;
    const bool numbered =
        parse_digits(node.substr(digits), number) && std::to_string(number) == node.substr(digits);
    if (!numbered || (!numbers.empty() && node.substr(0, digits) != stem)) return join(nodes, ",");
    stem = node.substr(0, digits);
    numbers.push_back(static_cast<int64_t>(number));
  }
  if (numbers.size() < 3) return join(nodes, ",");
  std::sort(numbers.begin(), numbers.end());
  std::string out = stem + "[";
  for (size_t i = 0; i < numbers.size();) {
    size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    out += (i == 0 ? "" : ",") + std::to_string(numbers[i]);
    if (j > i) out += "-" + std::to_string(numbers[j]);
    i = j + 1;
  }
  return out + "]";
}

Table jobs_table(const google::protobuf::RepeatedPtrField<v1::Job>& jobs, Time now) {
  Table table{{{"JOB"},
               {"NAME", false, false, true},
               {"USER", false, false, true},
               {"STATUS"},
               {"WORKERS", true},
               {"DEVICES", true},
               {"AGE", true},
               {"QUEUE", false, true},
               {"PRIORITY", true, true},
               {"ATTEMPT", true, true},
               {"PROGRESS", true, true},
               {"CHECKPOINT", true, true},
               {"NODES(REASON)", false, false, true}},
              {}};
  for (const v1::Job& job : jobs) {
    const int workers = workers_of(job);
    const std::string running =
        is_final_word(job.status()) ? "" : std::to_string(job.workers_running()) + "/";
    table.rows.push_back({job.id(), job.spec().name(), job.spec().user(),
                          Cell(job.status(), colour_of_status(job.status())),
                          running + std::to_string(workers),
                          std::to_string(int64_t{workers} * job.spec().devices()),
                          age_of(job.submitted_at(), now), job.spec().queue(),
                          std::to_string(job.spec().priority()), std::to_string(job.attempt()),
                          progress_text(job),
                          job.has_checkpoint() ? "step " + grouped(job.checkpoint().step()) : "",
                          where_text(job)});
  }
  return table;
}

std::string job_page(const v1::Job& job, const Console& console) {
  const v1::JobSpec& spec = job.spec();
  const Time now = console.now();
  Page page(console);
  page.field("Job", job.id() + "  " + spec.name(), Colour::kBold);
  std::string status = job.status();
  if (!job.reason().empty()) status += " (" + job.reason() + ")";
  page.field("Status", status, colour_of_status(job.status()));
  page.field("Why", job.message());
  page.field("User", spec.user() + ", queue " + (spec.queue().empty() ? "default" : spec.queue()) +
                         ", priority " + std::to_string(spec.priority()));
  page.field("Command", command_text(spec));
  page.field("Directory", spec.workdir());
  page.field("Asks for", std::to_string(workers_of(job)) +
                             (workers_of(job) == 1 ? " worker" : " workers") + ", each " +
                             resources_text(spec) + (spec.one_node() ? ", all on one node" : ""));
  page.field("Runs on", has_place(job.status()) ? nodes_text(strings(job.nodes())) : "");
  page.field("Attempt", job.attempt() > 0 ? std::to_string(job.attempt()) : "");
  page.field("Submitted", when_text(job, now));
  page.field("Ran for", run_time_text(job, now));
  if (is_final_word(job.status())) page.field("Exit code", std::to_string(job.exit_code()));
  add_progress(job, console, page);
  if (job.has_checkpoint()) {
    page.field("Checkpoint",
               "step " + grouped(job.checkpoint().step()) + "  " + job.checkpoint().ref());
  }
  add_faults(job, page);
  add_workers(job, console, page);
  add_last_words(job, page);
  add_timeline(job, console, page);
  return page.take();
}

std::string verdict_page(const v1::Job& job, const v1::Verdict& verdict, const Console& console) {
  Page page(console);
  const std::string name = job.spec().name().empty() ? "" : " (" + job.spec().name() + ")";
  page.text(console.paint(Colour::kBold, job.id() + name) + " is " +
            console.paint(colour_of_status(job.status()), job.status()) + "\n");
  page.text(printable(verdict.sentence().empty() ? job.message() : verdict.sentence()) + "\n");
  if (!verdict.clauses().empty()) {
    page.heading("What the nodes lack");
    Table table{{{"CONDITION"}, {"NODES", true}, {"NEAREST", false, false, true}}, {}};
    for (const v1::Clause& clause : verdict.clauses()) {
      table.rows.push_back({clause.name(), std::to_string(clause.rejected()), clause.nearest()});
    }
    page.text(table_text(table, {}, console));
  }
  if (!verdict.cured_by().empty()) page.heading("What would change that");
  for (const std::string& cure : verdict.cured_by()) {
    std::string sentence = cure_sentence(cure);
    if (const size_t at = sentence.find(" ID"); at != std::string::npos) {
      sentence.replace(at, 3, " " + job.id());
    }
    page.text("  - " + printable(sentence) + "\n");
  }
  const bool backs_off = job.status() == "PENDING" && job.has_not_before() &&
                         from_proto(job.not_before()) > console.now();
  if (backs_off) {
    page.field("Not before", clock_text(job.not_before()));
  }
  return page.take();
}

std::string bar_text(double part, size_t width) {
  static const char* const kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double clamped = std::isfinite(part) ? std::clamp(part, 0.0, 1.0) : 0;
  const size_t eighths = static_cast<size_t>(clamped * static_cast<double>(width * 8) + 0.5);
  std::string out;
  size_t used = eighths / 8;
  for (size_t i = 0; i < used; ++i) out += "█";
  if (eighths % 8 != 0) {
    out += kEighths[eighths % 8];
    ++used;
  }
  for (; used < width; ++used) out += "░";
  return out;
}

std::string grouped(int64_t number) {
  const std::string digits = std::to_string(number);
  const size_t sign = number < 0 ? 1 : 0;
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > sign && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string short_number(double number) {
  static constexpr const char* kLetters[] = {"", "k", "M", "G", "T"};
  int letter = 0;
  while (number >= 999.5 && letter < 4) {
    number /= 1000;
    ++letter;
  }
  char text[32];
  const int decimals = letter == 0 ? 0 : number < 10 ? 2 : number < 100 ? 1 : 0;
  std::snprintf(text, sizeof text, "%.*f%s", decimals, number, kLetters[letter]);
  return text;
}

}  // namespace keiko::cli
