// TrainState: everything that a step changes (weights, optimizer moments, the step itself) and its
// form in a checkpoint. Random streams and the data cursor follow from seed and step; they are
// stored too, and held against what they must be when the checkpoint is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "train/checkpoint/checkpoint_store.h"
#include "train/checkpoint/checkpoint_writer.h"
#include "train/model/adamw.h"
#include "train/model/arena.h"
#include "train/model/gpt.h"
#include "train/options.h"
#include "train/text/corpus.h"

namespace keiko::train {

/// The first section of a checkpoint. What differs from the run that resumes is an error where it
/// would break the run, else a warning.
struct CheckpointHead {
  int32_t version = 1;
  int64_t step = 0;         ///< steps done
  int64_t cursor = 0;       ///< samples consumed: step * batch
  uint64_t rng = 0;         ///< stream_key(seed, step)
  uint64_t data_digest = 0;
  int64_t vocabulary = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t width = 0;
  int64_t context = 0;
  int64_t batch = 0;
  int64_t seed = 0;
  int32_t world = 0;        ///< ranks that computed it; another number gives other last bits
  std::string flags;        ///< the whole command line of the run
  std::string libtorch;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "version", s.version);
    v(2, "step", s.step);
    v(3, "cursor", s.cursor);
    v(4, "rng", s.rng);
    v(5, "data_digest", s.data_digest);
    v(6, "vocabulary", s.vocabulary);
    v(7, "layers", s.layers);
    v(8, "heads", s.heads);
    v(9, "width", s.width);
    v(10, "context", s.context);
    v(11, "batch", s.batch);
    v(12, "seed", s.seed);
    v(13, "world", s.world);
    v(14, "flags", s.flags);
    v(15, "libtorch", s.libtorch);
  }
};

/// The key from which all randomness of the step after `step` is drawn.
uint64_t stream_key(int64_t seed, int64_t step);

GptShape shape_of(const TrainOptions& options, const Tokenizer& tokenizer);

class TrainState {
 public:
  TrainState(const TrainOptions& options, const Corpus& corpus);

  ParameterArena& arena() { return arena_; }
  AdamW& optimizer() { return optimizer_; }
  int64_t step() const { return step_; }
  void set_step(int64_t step) { step_ = step; }

  /// Copies the state into `image`, section by section.
  void copy_to(CheckpointImage& image, int world);

  /// Takes the state from `checkpoint`. RETURNS: kFailedPrecondition naming every field that does
  /// not fit this run; the state is then unchanged.
  Done restore(const StoredCheckpoint& checkpoint, int world);

 private:
  CheckpointHead head(int world) const;

  const TrainOptions options_;
  const std::string tokenizer_record_;
  const uint64_t data_digest_;
  const GptShape shape_;
  ParameterArena arena_;
  AdamW optimizer_;
  int64_t step_ = 0;
};

/// A model to sample from, out of a checkpoint alone.
struct RestoredModel {
  CheckpointHead head;
  Tokenizer tokenizer = Tokenizer::bytes();
  GptShape shape;
  std::unique_ptr<ParameterArena> arena;
};
/// `path`: a checkpoint file, or a folder whose newest whole checkpoint is meant.
Result<RestoredModel> restore_model(const std::string& path);

}  // namespace keiko::train
