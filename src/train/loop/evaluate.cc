#include "train/loop/evaluate.h"

#include <array>

#include "train/checkpoint/train_state.h"

namespace keiko::train {
namespace {

// Windows per forward pass of an evaluation: enough for full speed, little memory.
constexpr int64_t kWindows = 32;
// The estimate draws from a seed of its own, so that it is the same whatever --seed trains.
constexpr uint64_t kEstimateSeed = 0x65737469'6d617465ULL;

/// Adds up losses and tokens of this rank, then of all.
struct LossTally {
  double sum = 0;
  double tokens = 0;

  void add(const Gpt& model, const TokenBatch& batch) {
    sum += model.loss_sum(batch.tokens, batch.targets, {}).item<double>();
    tokens += static_cast<double>(batch.tokens.numel());
  }

  Result<double> mean(Collective& collective) const {
    std::array<double, 2> both = {sum, tokens};
    TRY(collective.all_reduce({both.data(), both.size(), ElementType::kF64}, ReduceOp::kSum));
    return both[0] / both[1];
  }
};

/// Copies `samples` windows of `length` tokens that begin at offset(i).
template <class Offset>
TokenBatch copy_windows(std::span<const int32_t> text, int64_t samples, int64_t length,
                        const Offset& offset) {
  TokenBatch batch;
  batch.tokens = at::empty({samples, length}, at::kLong);
  batch.targets = at::empty({samples, length}, at::kLong);
  int64_t* tokens = batch.tokens.data_ptr<int64_t>();
  int64_t* targets = batch.targets.data_ptr<int64_t>();
  for (int64_t sample = 0; sample < samples; ++sample) {
    const int32_t* from = text.data() + offset(sample);
    for (int64_t t = 0; t < length; ++t) {
      *tokens++ = from[t];
      *targets++ = from[t + 1];
    }
  }
  return batch;
}

}  // namespace

int64_t shard_begin(int64_t batch, int world, int rank) { return batch * rank / world; }

TokenBatch make_batch(std::span<const int32_t> text, const SampleRange& range, int64_t context) {
  const int64_t span = static_cast<int64_t>(text.size()) - context;
  return copy_windows(text, range.last - range.first, context, [&](int64_t sample) {
    return sample_offset(range.seed, range.step, range.first + sample, span);
  });
}

Result<double> estimate_loss(const Gpt& model, const Corpus& corpus, const TrainOptions& options,
                             Collective& collective) {
  const at::NoGradGuard no_grad;
  const Bf16Scope scope(options.dtype == "bf16");
  const int64_t first = shard_begin(options.batch, collective.world(), collective.rank());
  const int64_t last = shard_begin(options.batch, collective.world(), collective.rank() + 1);
  LossTally tally;
  for (int64_t batch = 0; batch < options.eval_batches; ++batch) {
    tally.add(model, make_batch(corpus.held_out(), {kEstimateSeed, batch, first, last},
                                options.context));
  }
  return tally.mean(collective);
}

Result<double> full_loss(const Gpt& model, const Corpus& corpus, const TrainOptions& options,
                         Collective& collective) {
  const at::NoGradGuard no_grad;
  const Bf16Scope scope(options.dtype == "bf16");
  const std::span<const int32_t> text = corpus.held_out();
  const int64_t targets = static_cast<int64_t>(text.size()) - 1;
  const int64_t windows = targets / options.context;
  const int64_t last = shard_begin(windows, collective.world(), collective.rank() + 1);
  LossTally tally;
  for (int64_t at = shard_begin(windows, collective.world(), collective.rank()); at < last;
       at += kWindows) {
    tally.add(model, copy_windows(text, std::min(kWindows, last - at), options.context,
                                  [&](int64_t i) { return (at + i) * options.context; }));
  }
  const int64_t rest = targets - windows * options.context;
  if (rest > 0 && collective.rank() == 0) {
    tally.add(model, copy_windows(text, 1, rest, [&](int64_t) { return targets - rest; }));
  }
  return tally.mean(collective);
}

}  // namespace keiko::train
