// ProgressPrinter: rank 0's words on standard output. A line every so many steps, and on a terminal
// a bar that moves in between. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "train/loop/trainer.h"
#include "train/options.h"

namespace keiko::train {

class ProgressPrinter {
 public:
  /// `silent` for ranks other than 0; `terminal`: standard output is one.
  ProgressPrinter(const TrainOptions& options, bool silent, bool terminal);

  void step(const StepReport& report);
  void estimate(int64_t step, double loss);
  void checkpoint(const WrittenCheckpoint& written);
  void line(const std::string& text);

 private:
  void draw_bar(const StepReport& report);

  const TrainOptions options_;
  const bool silent_;
  const bool terminal_;
  bool bar_drawn_ = false;
  double bar_time_ = 0;
};

/// RETURNS: "step 120/2000  loss 2.1234  lr 9.80e-04  norm 0.53  15.2k tok/s".
std::string step_line(const StepReport& report, int64_t steps);

}  // namespace keiko::train
