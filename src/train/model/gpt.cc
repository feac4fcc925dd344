#include "train/model/gpt.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/prng.h"

namespace keiko::train {
namespace {

// The order of parameters: two embeddings, then per block these six, then the last norm.
enum Block : size_t { kNorm1, kQkv, kProject, kNorm2, kExpand, kContract, kBlockSize };
constexpr size_t kTokens = 0;
constexpr size_t kPositions = 1;
constexpr size_t kFirstBlock = 2;
constexpr double kNormEpsilon = 1e-5;
constexpr double kInitStd = 0.02;  // GPT-2's

at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) {
  return at::layer_norm(x, {x.size(-1)}, weight, {}, kNormEpsilon);
}

/// Masks one activation after another, each from its own stream of the key.
class Dropout {
 public:
  explicit Dropout(const DropoutKey& key) : key_(key) {}

  at::Tensor operator()(const at::Tensor& x) {
    if (key_.probability <= 0) return x;
    auto generator = at::detail::createCPUGenerator(splitmix64(key_.key + ++uses_));
    const double keep = 1.0 - key_.probability;
    at::Tensor mask = at::empty(x.sizes(), x.options().requires_grad(false));
    mask.bernoulli_(keep, generator);
    return x * mask.div_(keep);
  }

 private:
  DropoutKey key_;
  uint64_t uses_ = 0;
};

}  // namespace

std::vector<ParameterSpec> gpt_parameters(const GptShape& shape) {
  const int64_t w = shape.width;
  // Residual projections start smaller: 2 * layers of them add up in the residual stream.
  const double residual_std = kInitStd / std::sqrt(2.0 * static_cast<double>(shape.layers));
  std::vector<ParameterSpec> specs = {
      {"tokens", {shape.vocabulary, w}, kInitStd},
      {"positions", {shape.context, w}, kInitStd},
  };
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    const std::string prefix = "block" + std::to_string(layer) + ".";
    specs.push_back({prefix + "norm1", {w}, 0});
    specs.push_back({prefix + "qkv", {3 * w, w}, kInitStd});
    specs.push_back({prefix + "project", {w, w}, residual_std});
    specs.push_back({prefix + "norm2", {w}, 0});
    specs.push_back({prefix + "expand", {4 * w, w}, kInitStd});
    specs.push_back({prefix + "contract", {w, 4 * w}, residual_std});
  }
  specs.push_back({"norm", {w}, 0});
  return specs;
}

Gpt::Gpt(const GptShape& shape, const ParameterArena& arena) : shape_(shape), arena_(arena) {
  CHECK(shape.width % shape.heads == 0);
  CHECK(arena.size() == kFirstBlock + kBlockSize * static_cast<size_t>(shape.layers) + 1);
  const float minus_infinity = -std::numeric_limits<float>::infinity();
  mask_ = at::triu(at::full({shape.context, shape.context}, minus_infinity), 1);
}

const at::Tensor& Gpt::block(size_t layer, size_t which) const {
  return arena_.at(kFirstBlock + layer * kBlockSize + which);
}

at::Tensor Gpt::attention(size_t layer, const at::Tensor& x, int64_t batch) const {
  const int64_t time = x.size(0) / batch;
  const int64_t size = shape_.width / shape_.heads;
  const at::Tensor qkv = at::linear(norm(x, block(layer, kNorm1)), block(layer, kQkv))
                             .view({batch, time, 3, shape_.heads, size})
                             .permute({2, 0, 3, 1, 4});  // [3, batch, heads, time, size]
  const auto part = [&](int64_t which) {
    return qkv.select(0, which).reshape({batch * shape_.heads, time, size});
  };
  const at::Tensor mask = mask_.narrow(0, 0, time).narrow(1, 0, time);
  const at::Tensor mixed = causal_attention(part(0), part(1), part(2), mask)
                               .view({batch, shape_.heads, time, size})
                               .transpose(1, 2)
                               .reshape({batch * time, shape_.width});
  return at::linear(mixed, block(layer, kProject));
}

at::Tensor Gpt::feed_forward(size_t layer, const at::Tensor& x) const {
  const at::Tensor wide = at::linear(norm(x, block(layer, kNorm2)), block(layer, kExpand));
  return at::linear(at::gelu(wide), block(layer, kContract));
}

at::Tensor Gpt::hidden(const at::Tensor& tokens, const DropoutKey& dropout) const {
  const int64_t batch = tokens.size(0);
  const int64_t time = tokens.size(1);
  CHECK(time <= shape_.context);
  Dropout drop(dropout);
  at::Tensor x = at::embedding(arena_.at(kTokens), tokens) +
                 arena_.at(kPositions).narrow(0, 0, time);
  x = drop(x.view({batch * time, shape_.width}));
  for (size_t layer = 0; layer < static_cast<size_t>(shape_.layers); ++layer) {
    x = x + drop(attention(layer, x, batch));
    x = x + drop(feed_forward(layer, x));
  }
  return norm(x, arena_.at(arena_.size() - 1));
}

at::Tensor Gpt::loss_sum(const at::Tensor& tokens, const at::Tensor& targets,
                         const DropoutKey& dropout) const {
  const at::Tensor logits = at::linear(hidden(tokens, dropout), arena_.at(kTokens));
  return at::cross_entropy_loss(logits.to(at::kFloat), targets.view({-1}), {},
                                at::Reduction::Sum);
}

at::Tensor Gpt::next_logits(const at::Tensor& tokens) const {
  const at::Tensor last = hidden(tokens, {})
                              .view({tokens.size(0), tokens.size(1), shape_.width})
                              .select(1, tokens.size(1) - 1);
  return at::linear(last, arena_.at(kTokens)).to(at::kFloat);
}

}  // namespace keiko::train
