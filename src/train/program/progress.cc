#include "train/program/progress.h"

#include <array>
#include <chrono>
#include <cstdio>

namespace keiko::train {
namespace {

constexpr int kBarCells = 30;
constexpr double kBarSeconds = 0.1;
constexpr const char* kClearLine = "\r\x1b[K";

template <class... Arguments>
std::string format_line(const char* format, Arguments... arguments) {
  std::array<char, 256> text;
  const int length = std::snprintf(text.data(), text.size(), format, arguments...);
  return {text.data(), std::min(static_cast<size_t>(std::max(length, 0)), text.size() - 1)};
}

}  // namespace

std::string step_line(const StepReport& report, int64_t steps) {
  const std::string speed = report.tokens_per_s < 10'000
                                ? format_line("%.0f tok/s", report.tokens_per_s)
                                : format_line("%.1fk tok/s", report.tokens_per_s / 1000);
  return format_line("step %lld/%lld  loss %.4f  lr %.2e  norm %.3f  %s",
                     static_cast<long long>(report.step), static_cast<long long>(steps),
                     report.loss, report.learning_rate, report.gradient_norm, speed.c_str());
}

ProgressPrinter::ProgressPrinter(const TrainOptions& options, bool silent, bool terminal)
    : options_(options), silent_(silent), terminal_(terminal) {}

void ProgressPrinter::line(const std::string& text) {
  if (silent_) return;
  if (bar_drawn_) std::fputs(kClearLine, stdout);
  bar_drawn_ = false;
  std::fputs((text + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void ProgressPrinter::step(const StepReport& report) {
  if (silent_) return;
  if (report.step % options_.log_every == 0 || report.step == options_.steps) {
    line(step_line(report, options_.steps));
  }
  if (terminal_) draw_bar(report);
}

void ProgressPrinter::draw_bar(const StepReport& report) {
  const double now = std::chrono::duration<double>(
                         std::chrono::steady_clock::now().time_since_epoch()).count();
  if (now - bar_time_ < kBarSeconds) return;
  bar_time_ = now;
  const int64_t filled = report.step * kBarCells / options_.steps;
  std::string bar;
  for (int i = 0; i < kBarCells; ++i) bar += i < filled ? "█" : "░";
  const int64_t percent = report.step * 100 / options_.steps;
  std::fputs((kClearLine + bar + format_line(" %3d%%  loss %.4f", static_cast<int>(percent),
                                             report.loss)).c_str(),
             stdout);
  std::fflush(stdout);
  bar_drawn_ = true;
}

void ProgressPrinter::estimate(int64_t step, double loss) {
  line(format_line("step %lld  held-out loss %.4f (estimate over %lld batches)",
                   static_cast<long long>(step), loss,
                   static_cast<long long>(options_.eval_batches)));
}

void ProgressPrinter::checkpoint(const WrittenCheckpoint& written) {
  line(format_line("step %lld  checkpoint (stood still %.1f ms, durable after %.0f ms): ",
                   static_cast<long long>(written.step), written.stall_s * 1000,
                   (written.stall_s + written.write_s) * 1000) +
       *written.path);
}

}  // namespace keiko::train
