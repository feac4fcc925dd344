// AdamW (Loshchilov and Hutter 2019) over flat runs of floats: one fused loop, no library, so that
// the same gradients give the same bits in every run and after every resume.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace keiko::train {

struct AdamWOptions {
  double beta1 = 0.9;         ///< how much of the mean gradient a step keeps
  double beta2 = 0.99;        ///< the same of the mean square; longer for small batches
  double epsilon = 1e-8;      ///< added to the root, so that a weight without gradient stays finite
  double weight_decay = 0.1;  ///< share of a weight that a step takes off, times the learning rate
};

/// What changes from step to step.
struct AdamWStep {
  double gradient_scale = 1;  ///< what the gradients are multiplied by first (clipping)
  double learning_rate = 0;
  int64_t number = 1;         ///< counts from 1
};

/// Floats [begin, end) with or without weight decay.
struct DecayRange {
  int64_t begin = 0;
  int64_t end = 0;
  bool decays = false;
};

class AdamW {
 public:
  AdamW(const AdamWOptions& options, std::vector<DecayRange> ranges, size_t count);

  /// Moves `weights` one step against `gradients`. REQUIRES: both runs have `count` floats.
  void step(std::span<float> weights, std::span<const float> gradients, const AdamWStep& step);

  std::span<float> first_moment() { return first_; }
  std::span<float> second_moment() { return second_; }

 private:
  AdamWOptions options_;
  std::vector<DecayRange> ranges_;
  std::vector<float> first_;
  std::vector<float> second_;
};

/// RETURNS: the Euclidean norm, summed in doubles in a fixed order.
double global_norm(std::span<const float> values);

}  // namespace keiko::train
