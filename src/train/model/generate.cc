#include "train/model/generate.h"

#include <algorithm>
#include <cmath>

#include "base/prng.h"

namespace keiko::train {
namespace {

/// Draws from softmax(logits / temperature).
int32_t draw_token(const at::Tensor& logits, double temperature, Prng& prng) {
  const float* row = logits.data_ptr<float>();
  const int64_t count = logits.numel();
  const float* best = std::max_element(row, row + count);
  if (temperature <= 0) return static_cast<int32_t>(best - row);
  std::vector<double> sums(static_cast<size_t>(count));
  double total = 0;
  for (int64_t i = 0; i < count; ++i) {
    total += std::exp((static_cast<double>(row[i]) - *best) / temperature);
    sums[static_cast<size_t>(i)] = total;
  }
  const double point = static_cast<double>(prng.next() >> 11) * 0x1p-53 * total;
  const auto found = std::upper_bound(sums.begin(), sums.end(), point);
  return static_cast<int32_t>(std::min<int64_t>(found - sums.begin(), count - 1));
}

}  // namespace

Result<std::string> generate_text(const Gpt& model, const Tokenizer& tokenizer,
                                  const GenerateOptions& options) {
  const at::NoGradGuard no_grad;
  std::vector<int32_t> tokens = TRY(tokenizer.encode(options.prompt));
  if (tokens.empty()) return invalid_argument("--prompt is empty; give it one character at least");
  Prng prng(options.seed);
  for (int64_t i = 0; i < options.tokens; ++i) {
    const auto seen =
        std::min(static_cast<int64_t>(tokens.size()), model.shape().context);
    at::Tensor window = at::empty({1, seen}, at::kLong);
    std::copy(tokens.end() - seen, tokens.end(), window.data_ptr<int64_t>());
    const at::Tensor logits = model.next_logits(window).contiguous();
    tokens.push_back(draw_token(logits, options.temperature, prng));
  }
  return tokenizer.decode(tokens);
}

}  // namespace keiko::train
