#include "cli/show/live_view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/show/job_view.h"
#include "wire/convert.h"

namespace keiko::cli {
namespace {

constexpr size_t kMaxPoints = 20'000;  // of the loss curve; then every second one goes

bool is_final_word(const std::string& status) {
  return status == "COMPLETED" || status == "FAILED" || status == "CANCELLED";
}

std::string number_text(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// Between both texts as many blanks as fill `width`.
std::string spread(const std::string& left, const std::string& right, size_t width) {
  const size_t used = display_width(left) + display_width(right);
  return left + std::string(used < width ? width - used : 1, ' ') + right;
}

std::string time_of_day(const google::protobuf::Timestamp& time) {
  const std::string text = clock_text(time);
  return text.size() > 11 ? text.substr(11) : text;
}

Colour colour_of_worker(const v1::Worker& worker) {
  if (worker.status() == "running") return Colour::kGreen;
  if (worker.status() != "ended") return Colour::kYellow;
  return worker.end().cause() == "exited" && worker.end().exit_code() == 0 ? Colour::kDim
                                                                           : Colour::kRed;
}

std::string status_of_worker(const v1::Worker& worker) {
  if (worker.status() != "ended") return worker.status();
  if (worker.end().cause() == "exited") return "exit " + std::to_string(worker.end().exit_code());
  if (worker.end().cause() == "signalled") return "signal " + std::to_string(worker.end().signal());
  return worker.end().cause();
}

std::string devices_of(const v1::Worker& worker) {
  std::string out;
  for (const int32_t device : worker.devices())
    out += (out.empty() ? "" : ",") + std::to_string(device);
  return out;
}

template <class T>
void thin(std::vector<T>& values) {
  if (values.size() < kMaxPoints) return;
  for (size_t i = 0; i < values.size() / 2; ++i) values[i] = values[i * 2];
  values.resize(values.size() / 2);
}

}  // namespace

void LiveView::update(const v1::Job& job, Time now) {
  const bool new_attempt = job.attempt() != attempt_;
  const bool moved = job.has_progress() && job.progress().step() > 0 &&
                     (new_attempt || !job_.has_progress() ||
                      job.progress().step() != job_.progress().step());
  job_ = job;
  now_ = now;
  if (new_attempt) {
    attempt_ = job.attempt();
    first_step_ = -1;
  }
  if (!moved) return;
  const v1::Progress& progress = job.progress();
  if (first_step_ < 0 || progress.step() < first_step_) {
    first_step_ = progress.step();
    first_step_at_ = now;
  }
  if (progress.loss() != 0) {
    // A restart goes back to its checkpoint: the curve goes on from there.
    while (!losses_.empty() && losses_.back().step >= progress.step()) losses_.pop_back();
    losses_.push_back({progress.step(), progress.loss()});
    thin(losses_);
  }
  if (progress.tokens_per_s() > 0) {
    speeds_.push_back(progress.tokens_per_s());
    thin(speeds_);
  }
}

bool LiveView::ended() const { return is_final_word(job_.status()); }

Duration LiveView::run_time() const {
  if (!job_.has_started_at()) return {};
  return (job_.has_ended_at() ? from_proto(job_.ended_at()) : now_) - from_proto(job_.started_at());
}

std::string LiveView::time_left() const {
  const v1::Progress& progress = job_.progress();
  const int64_t steps = progress.step() - first_step_;
  const Duration took = now_ - first_step_at_;
  if (ended() || first_step_ < 0 || steps < 3 || took < seconds(1) ||
      progress.total_steps() <= progress.step()) {
    return "";
  }
  const double each = took.seconds() / static_cast<double>(steps);
  const double left = each * static_cast<double>(progress.total_steps() - progress.step());
  return left < 1e7 ? "about " + span_text(seconds(static_cast<int64_t>(left + 1))) + " left"
                    : "";
}

std::string LiveView::head_line(const Console& console) const {
  const Colour colour = colour_of_status(job_.status());
  std::string left = console.paint(colour, "●") + " " +
                     console.paint(Colour::kBold, printable(job_.spec().name())) + "  " +
                     job_.id() + "  " + console.paint(colour, job_.status());
  if (!job_.reason().empty()) left += " (" + printable(job_.reason()) + ")";
  std::string right;
  if (job_.attempt() > 1) right = "attempt " + std::to_string(job_.attempt()) + "  ";
  if (job_.has_started_at()) right += span_text(run_time());
  return spread(left, right, static_cast<size_t>(console.size().width));
}

std::string LiveView::progress_line(const Console& console) const {
  if (!job_.has_progress() || job_.progress().step() == 0) return "";
  const v1::Progress& progress = job_.progress();
  const std::string step = "step " + grouped(progress.step());
  if (progress.total_steps() <= 0) return "  " + step;
  const double part =
      static_cast<double>(progress.step()) / static_cast<double>(progress.total_steps());
  const size_t width = static_cast<size_t>(std::clamp(console.size().width - 48, 10, 60));
  std::string line = "  " + console.paint(Colour::kGreen, bar_text(part, width));
  line += "  " + number_text("%3.0f%%", std::floor(part * 100)) + "  " + step + " of " +
          grouped(progress.total_steps());
  const std::string left = time_left();
  return left.empty() ? line : line + "  " + console.paint(Colour::kDim, left);
}

std::string LiveView::figures_line(const Console& console) const {
  std::string out;
  const auto add = [&out, &console](const std::string& name, const std::string& value) {
    out += (out.empty() ? "  " : "   ") + console.paint(Colour::kDim, name) + " " + value;
  };
  if (job_.has_progress()) {
    const v1::Progress& progress = job_.progress();
    if (progress.loss() != 0) add("loss", number_text("%.4f", progress.loss()));
    if (progress.tokens_per_s() > 0) {
      add("tokens/s", short_number(progress.tokens_per_s()) + " " +
                          console.paint(Colour::kCyan, sparkline(speeds_, 16)));
    }
  }
  if (job_.has_checkpoint()) add("checkpoint", "step " + grouped(job_.checkpoint().step()));
  const int faults = job_.user_faults() + job_.infra_faults();
  if (faults > 0) add("faults", std::to_string(faults));
  return out;
}

void LiveView::add_workers(const Console& console, size_t room,
                           std::vector<std::string>& out) const {
  if (job_.workers().empty() || room < 3) return;
  Table table{{{"RANK", true},
               {"NODE", false, false, true},
               {"DEVICES"},
               {"STATUS"},
               {"STEP", true},
               {"LOSS", true},
               {"TOKENS/S", true}},
              {}};
  const size_t count = static_cast<size_t>(job_.workers_size());
  const size_t shown = count <= room - 1 ? count : room - 2;
  for (size_t i = 0; i < shown; ++i) {
    const v1::Worker& worker = job_.workers(static_cast<int>(i));
    const bool has = worker.has_progress();
    table.rows.push_back(
        {std::to_string(worker.rank()), worker.node(), devices_of(worker),
         Cell(status_of_worker(worker), colour_of_worker(worker)),
         has ? grouped(worker.progress().step()) : "",
         has && worker.progress().loss() != 0 ? number_text("%.4f", worker.progress().loss()) : "",
         has && worker.progress().tokens_per_s() > 0
             ? short_number(worker.progress().tokens_per_s())
             : ""});
  }
  out.emplace_back();
  const std::string text = table_text(table, {}, console);
  size_t start = 0;
  while (start < text.size()) {
    const size_t end = text.find('\n', start);
    out.push_back("  " + text.substr(start, end - start));
    start = end + 1;
  }
  if (shown < count) out.push_back("  ... and " + std::to_string(count - shown) + " more");
}

void LiveView::add_timeline(const Console& console, size_t room,
                            std::vector<std::string>& out) const {
  const int count = job_.timeline_size();
  if (count == 0 || room < 2) return;
  out.emplace_back();
  const int first = std::max(0, count - static_cast<int>(room) + 1);
  for (int i = first; i < count; ++i) {
    const v1::TimelineEntry& entry = job_.timeline(i);
    const std::string text = entry.text().empty() ? entry.what() : entry.text();
    out.push_back("  " + console.paint(Colour::kDim, time_of_day(entry.at())) + "  " +
                  printable(text));
  }
}

std::vector<std::string> LiveView::lines(const Console& console) const {
  const ScreenSize size = console.size();
  std::vector<std::string> out = {head_line(console)};
  if (!notice_.empty()) out.push_back("  " + console.paint(Colour::kYellow, printable(notice_)));
  if (!job_.message().empty()) out.push_back("  " + printable(job_.message()));
  for (const std::string& line : {progress_line(console), figures_line(console)}) {
    if (!line.empty()) out.push_back(line);
  }
  const size_t height = static_cast<size_t>(std::max(size.height - 1, 4));
  // The curve takes what is left when four ranks and four events have their lines.
  const size_t ranks = std::min<size_t>(static_cast<size_t>(job_.workers_size()), 4) + 2;
  const size_t taken = out.size() + ranks + 5 + 3;
  if (losses_.size() >= 2 && height >= taken + 3) {
    const size_t rows = std::min<size_t>(height - taken, 10);
    out.emplace_back();
    const size_t width = static_cast<size_t>(std::clamp(size.width - 4, 20, 100));
    for (const std::string& line : curve_lines(losses_, {width, rows})) {
      out.push_back("  " + console.paint(Colour::kCyan, line));
    }
  }
  const size_t left = height > out.size() ? height - out.size() : 0;
  const size_t events = std::min<size_t>(5, left / 2);
  add_workers(console, left > events + 1 ? left - events - 1 : 0, out);
  add_timeline(console, std::min<size_t>(height > out.size() ? height - out.size() : 0, 7), out);
  return out;
}

std::string LiveView::news() {
  std::string out;
  const std::string status = job_.status() + job_.reason();
  if (status != told_status_) {
    told_status_ = status;
    out += job_.id() + " " + job_.status() +
           (job_.reason().empty() ? "" : " (" + job_.reason() + ")") +
           (job_.message().empty() ? "" : ": " + printable(job_.message())) + "\n";
  }
  for (; told_entries_ < job_.timeline_size(); ++told_entries_) {
    const v1::TimelineEntry& entry = job_.timeline(told_entries_);
    out += time_of_day(entry.at()) + "  " + entry.what() +
           (entry.text().empty() ? "" : "  " + printable(entry.text())) + "\n";
  }
  const int64_t step = job_.has_progress() ? job_.progress().step() : 0;
  if (step > 0 && step != told_step_ &&
      (told_step_ < 0 || ended() || now_ - told_at_ >= kNewsPeriod)) {
    told_step_ = step;
    told_at_ = now_;
    const v1::Progress& progress = job_.progress();
    out += "step " + std::to_string(step);
    if (progress.total_steps() > 0) out += "/" + std::to_string(progress.total_steps());
    if (progress.loss() != 0) out += "  loss " + number_text("%.4f", progress.loss());
    if (progress.tokens_per_s() > 0)
      out += "  " + short_number(progress.tokens_per_s()) + " tokens/s";
    out += "\n";
  }
  return out;
}

}  // namespace keiko::cli
