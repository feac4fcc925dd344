#include "train/options.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "train/flags.h"

namespace keiko::train {

Done validate(const TrainOptions& options, int world) {
  if (options.data.empty()) {
    return invalid_argument("--data is missing: name the text file to train on");
  }
  if (options.width % options.heads != 0) {
    return invalid_argument("--width " + std::to_string(options.width) +
                            " is not a multiple of --heads " + std::to_string(options.heads) +
                            "; the nearest width that is: " +
                            std::to_string((options.width / options.heads + 1) * options.heads));
  }
  if (options.batch < world) {
    return invalid_argument("--batch " + std::to_string(options.batch) + " leaves some of the " +
                            std::to_string(world) + " ranks without a sample; take at least " +
                            std::to_string(world) + ", or fewer ranks");
  }
  if (options.tokenizer != "byte" && options.tokenizer != "char") {
    return invalid_argument("--tokenizer " + options.tokenizer + " is not known: byte or char");
  }
  if (options.dtype != "f32" && options.dtype != "bf16") {
    return invalid_argument("--dtype " + options.dtype + " is not known: f32 or bf16");
  }
  if (options.min_lr > options.lr) {
    return invalid_argument("--min-lr is above --lr; the schedule goes down from --lr to --min-lr");
  }
  return done();
}

Digest agreement_digest(const TrainOptions& options) {
  TrainOptions shared = options;
  // Machines may keep their files where they like; what is in the text is compared by its digest.
  shared.data.clear();
  shared.checkpoint_dir.clear();
  shared.resume_from.clear();
  return digest_of(flags_text(shared));
}

double learning_rate(const TrainOptions& options, int64_t step) {
  const auto at = static_cast<double>(step);
  const auto warmup = static_cast<double>(options.warmup);
  const auto last = static_cast<double>(options.steps);
  if (step < options.warmup) return options.lr * (at + 1) / (warmup + 1);
  if (last <= warmup) return options.lr;
  const double progress = std::min((at - warmup) / (last - warmup), 1.0);
  const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  return options.min_lr + cosine * (options.lr - options.min_lr);
}

}  // namespace keiko::train
