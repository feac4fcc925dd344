// Gpt: a decoder-only transformer (Radford et al. 2019): learned positions, pre-norm blocks, GELU,
// no biases, the token embedding tied to the output layer.
//
// The weights live in a ParameterArena; Gpt itself has no state but a mask. For one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "train/compat.h"
#include "train/model/arena.h"

namespace keiko::train {

struct GptShape {
  int64_t vocabulary = 256;
  int64_t layers = 4;
  int64_t heads = 4;
  int64_t width = 128;   ///< a multiple of `heads`
  int64_t context = 64;  ///< tokens seen at once
};

/// RETURNS: the parameters of such a model in the order of its forward pass.
std::vector<ParameterSpec> gpt_parameters(const GptShape& shape);

/// Where dropout's masks come from: a key, so that a mask is a function of seed, step and rank.
struct DropoutKey {
  double probability = 0;
  uint64_t key = 0;
};

class Gpt {
 public:
  /// REQUIRES: `arena` was laid out by gpt_parameters(shape) and outlives this.
  Gpt(const GptShape& shape, const ParameterArena& arena);

  /// RETURNS: the sum of the cross entropies (nats) of `targets` under `tokens`, both int64
  /// [batch, time] with time <= context.
  at::Tensor loss_sum(const at::Tensor& tokens, const at::Tensor& targets,
                      const DropoutKey& dropout) const;

  /// RETURNS: the logits [batch, vocabulary] of the token that follows each row of `tokens`.
  at::Tensor next_logits(const at::Tensor& tokens) const;

  const GptShape& shape() const { return shape_; }

 private:
  at::Tensor hidden(const at::Tensor& tokens, const DropoutKey& dropout) const;
  at::Tensor attention(size_t layer, const at::Tensor& x, int64_t batch) const;
  at::Tensor feed_forward(size_t layer, const at::Tensor& x) const;
  const at::Tensor& block(size_t layer, size_t which) const;

  GptShape shape_;
  const ParameterArena& arena_;
  at::Tensor mask_;
};

}  // namespace keiko::train
