#include "train/model/adamw.h"

#include <array>
#include <cmath>

#include "base/check.h"

namespace keiko::train {
namespace {

/// The numbers of one step, all in the precision of the loop.
struct Coefficients {
  float gradient_scale;
  float keep1, new1;
  float keep2, new2;
  float shrink;       ///< 1 - learning rate * decay
  float rate;         ///< learning rate over the first moment's bias correction
  float inverse_root; ///< 1 / sqrt of the second moment's bias correction
  float epsilon;
};

/// One range of each of the four runs of floats.
struct Runs {
  float* weights;
  const float* gradients;
  float* first;
  float* second;
  int64_t count;
};

// -O3 and no errno for this loop alone: sqrt is then one vector instruction.
[[gnu::optimize("O3", "no-math-errno", "no-trapping-math")]] void step_range(
    const Runs& runs, const Coefficients c) {
  float* __restrict weights = runs.weights;
  const float* __restrict gradients = runs.gradients;
  float* __restrict first = runs.first;
  float* __restrict second = runs.second;
  for (int64_t i = 0; i < runs.count; ++i) {
    const float gradient = gradients[i] * c.gradient_scale;
    const float m = c.keep1 * first[i] + c.new1 * gradient;
    const float v = c.keep2 * second[i] + c.new2 * (gradient * gradient);
    first[i] = m;
    second[i] = v;
    weights[i] =
        weights[i] * c.shrink - c.rate * m / (std::sqrt(v) * c.inverse_root + c.epsilon);
  }
}

}  // namespace

AdamW::AdamW(const AdamWOptions& options, std::vector<DecayRange> ranges, size_t count)
    : options_(options), ranges_(std::move(ranges)), first_(count, 0.0F), second_(count, 0.0F) {
  for (const DecayRange& range : ranges_) {
    CHECK(range.begin >= 0 && range.begin <= range.end);
    CHECK(range.end <= static_cast<int64_t>(count));
  }
}

void AdamW::step(std::span<float> weights, std::span<const float> gradients,
                 const AdamWStep& step) {
  CHECK(weights.size() == first_.size() && gradients.size() == first_.size());
  CHECK(step.number >= 1);
  const double correction1 = 1.0 - std::pow(options_.beta1, static_cast<double>(step.number));
  const double correction2 = 1.0 - std::pow(options_.beta2, static_cast<double>(step.number));
  Coefficients c{};
  c.gradient_scale = static_cast<float>(step.gradient_scale);
  c.keep1 = static_cast<float>(options_.beta1);
  c.new1 = static_cast<float>(1.0 - options_.beta1);
  c.keep2 = static_cast<float>(options_.beta2);
  c.new2 = static_cast<float>(1.0 - options_.beta2);
  c.rate = static_cast<float>(step.learning_rate / correction1);
  c.inverse_root = static_cast<float>(1.0 / std::sqrt(correction2));
  c.epsilon = static_cast<float>(options_.epsilon);
  for (const DecayRange& range : ranges_) {
    const double decay = range.decays ? options_.weight_decay : 0.0;
    c.shrink = static_cast<float>(1.0 - step.learning_rate * decay);
    step_range({weights.data() + range.begin, gradients.data() + range.begin,
                first_.data() + range.begin, second_.data() + range.begin,
                range.end - range.begin},
               c);
  }
}

[[gnu::optimize("O3")]] double global_norm(std::span<const float> values) {
  // Eight sums side by side: a fixed order that still lets the loop use vectors.
  std::array<double, 8> sums{};
  size_t i = 0;
  for (; i + 8 <= values.size(); i += 8) {
    for (size_t k = 0; k < 8; ++k) {
      const double value = values[i + k];
      sums[k] += value * value;
    }
  }
  for (; i < values.size(); ++i) sums[0] += static_cast<double>(values[i]) * values[i];
  double total = 0;
  for (const double sum : sums) total += sum;
  return std::sqrt(total);
}

}  // namespace keiko::train
