// Losses on the held-out tenth: an estimate from random batches, or the whole of it. Every rank
// takes its share and all learn the result.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "ports/collective.h"
#include "train/model/gpt.h"
#include "train/options.h"
#include "train/text/corpus.h"

namespace keiko::train {

/// One rank's token tensors for samples [first, last) of a step's global batch.
struct TokenBatch {
  at::Tensor tokens;   ///< int64 [samples, context]
  at::Tensor targets;  ///< the same, one token later
};

/// Which samples of which step's global batch.
struct SampleRange {
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t first = 0;
  int64_t last = 0;  ///< one after
};
TokenBatch make_batch(std::span<const int32_t> text, const SampleRange& range, int64_t context);

/// Where rank `rank` of `world` begins in a batch of `batch` samples; shares differ by one at most.
int64_t shard_begin(int64_t batch, int world, int rank);

/// RETURNS: the mean loss (nats a token) over eval_batches random batches, the same ones each time.
Result<double> estimate_loss(const Gpt& model, const Corpus& corpus, const TrainOptions& options,
                             Collective& collective);

/// RETURNS: the mean loss over every token of the held-out tenth but its first, in windows of one
/// context that do not overlap.
Result<double> full_loss(const Gpt& model, const Corpus& corpus, const TrainOptions& options,
                         Collective& collective);

}  // namespace keiko::train
