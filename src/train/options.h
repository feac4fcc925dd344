// TrainOptions: what one training run is told, each field with its unit and its reason. The table
// of flags in flags.cc has one row per field; nothing here is read from anywhere else.
#pragma once

#include <cstdint>
#include <string>

#include "base/digest.h"
#include "base/result.h"

namespace keiko::train {

struct TrainOptions {
  // The text.
  std::string data;                  ///< path of one text file; its last tenth is held out
  std::string tokenizer = "char";    ///< byte or char

  // The model.
  int64_t layers = 4;                ///< transformer blocks
  int64_t heads = 4;                 ///< attention heads per block
  int64_t width = 128;               ///< a multiple of heads
  int64_t context = 64;              ///< tokens
  double dropout = 0;                ///< probability; small models on small texts need none

  // The run.
  int64_t batch = 12;                ///< samples per step over all ranks together
  int64_t steps = 2000;              ///< of the whole run, over all attempts
  double lr = 1e-3;                  ///< peak, after warm-up
  double min_lr = 1e-4;              ///< at the last step
  int64_t warmup = 100;              ///< steps of linear warm-up
  double weight_decay = 0.1;         ///< on matrices
  double beta1 = 0.9;                ///< how much of the mean gradient a step keeps
  double beta2 = 0.99;               ///< small batches want a longer memory than 0.95
  double clip = 1.0;                 ///< greatest global gradient norm; 0 clips nothing
  int64_t seed = 1337;               ///< of first weights, batches and dropout masks
  std::string dtype = "f32";         ///< f32 or bf16 (matrix products only)
  int64_t bucket_kib = 1024;         ///< least KiB of one gradient all-reduce

  // Checkpoints.
  std::string checkpoint_dir;        ///< empty: no checkpoints
  int64_t checkpoint_every = 100;    ///< steps; 0: only at the end and on notice
  int64_t keep = 3;                  ///< newest checkpoints that stay
  bool fresh = false;                ///< start at step 0 whatever is in checkpoint_dir
  /// The checkpoint to resume from, whatever is newer in checkpoint_dir and in spite of `fresh`;
  /// the agent names the one that the server committed last. Empty: the newest whole one.
  std::string resume_from;

  // What is told.
  int64_t eval_every = 0;            ///< steps between estimates on the held-out tenth; 0: never
  int64_t eval_batches = 20;         ///< random batches per estimate
  bool eval_full = false;            ///< loss over the whole held-out tenth at the end
  int64_t sample = 0;                ///< tokens to generate at the end
  std::string prompt = "\n";         ///< what the generated text begins with
  double temperature = 0.8;          ///< 0 takes the likeliest token each time
  int64_t log_every = 10;            ///< steps between progress lines
};

/// RETURNS: kInvalidArgument for combinations that cannot train, in the user's words.
Done validate(const TrainOptions& options, int world);

/// RETURNS: a digest of everything that must be equal on all ranks.
Digest agreement_digest(const TrainOptions& options);

/// The learning rate of `step` (from 0): linear warm-up, then a cosine down to min_lr.
double learning_rate(const TrainOptions& options, int64_t step);

}  // namespace keiko::train
