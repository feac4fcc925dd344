// ParameterArena: all weights of a model in one flat run of floats, all gradients in another.
//
// The tensors that the model computes with are views into the two. So an optimizer step is one
// loop, a bucket of the gradient reduction is a range, and a checkpoint writes three runs of bytes.
// Parameters lie in the order of the forward pass, each on a 64-byte border.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "train/compat.h"

namespace keiko::train {

struct ParameterSpec {
  std::string name;
  std::vector<int64_t> shape;
  /// Standard deviation of the first values; 0 means that all of them are one (norm weights).
  double init_std = 0;

  int64_t count() const;
  /// Matrices shrink by weight decay, norm weights do not.
  bool decays() const { return shape.size() >= 2; }
};

class ParameterArena {
 public:
  /// Lays out `specs` and draws the first values from `seed`: the same on every rank.
  ParameterArena(std::vector<ParameterSpec> specs, uint64_t seed);

  size_t size() const { return specs_.size(); }
  const ParameterSpec& spec(size_t index) const { return specs_[index]; }
  /// The leaf tensor of parameter `index`; its grad is a view of the gradient arena.
  const at::Tensor& at(size_t index) const { return leaves_[index]; }
  /// Where parameter `index` begins, in floats. begin(size()) is the end of the last one.
  int64_t begin(size_t index) const { return begins_[index]; }

  std::span<float> weights();
  std::span<float> gradients();
  void clear_gradients();

  /// RETURNS: one line "name shape begin" per parameter, which a checkpoint must match.
  std::string layout_text() const;
  /// RETURNS: the number of weights, padding not counted.
  int64_t parameter_count() const;

 private:
  void draw_weights(uint64_t seed);

  std::vector<ParameterSpec> specs_;
  std::vector<int64_t> begins_;
  at::Tensor weights_;
  at::Tensor gradients_;
  std::vector<at::Tensor> leaves_;
};

}  // namespace keiko::train
