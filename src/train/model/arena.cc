#include "train/model/arena.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>

#include "base/prng.h"

namespace keiko::train {
namespace {
constexpr int64_t kAlignFloats = 16;  // 64 bytes, a cache line and the widest vector
}

int64_t ParameterSpec::count() const {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

ParameterArena::ParameterArena(std::vector<ParameterSpec> specs, uint64_t seed)
    : specs_(std::move(specs)) {
  int64_t total = 0;
  for (const ParameterSpec& spec : specs_) {
    begins_.push_back(total);
    total += (spec.count() + kAlignFloats - 1) / kAlignFloats * kAlignFloats;
  }
  begins_.push_back(total);
  weights_ = at::zeros({total}, at::kFloat);
  gradients_ = at::zeros({total}, at::kFloat);
  draw_weights(seed);
  for (size_t i = 0; i < specs_.size(); ++i) {
    const auto view = [&](const at::Tensor& flat) {
      return flat.narrow(0, begins_[i], specs_[i].count()).view(specs_[i].shape);
    };
    at::Tensor leaf = view(weights_).detach();
    leaf.requires_grad_(true);
    leaf.mutable_grad() = view(gradients_);
    leaves_.push_back(std::move(leaf));
  }
}

void ParameterArena::draw_weights(uint64_t seed) {
  for (size_t i = 0; i < specs_.size(); ++i) {
    at::Tensor flat = weights_.narrow(0, begins_[i], specs_[i].count());
    if (specs_[i].init_std == 0) {
      flat.fill_(1.0);
      continue;
    }
    // A generator of its own per parameter: adding one does not move the draws of the others.
    auto generator = at::detail::createCPUGenerator(splitmix64(splitmix64(seed) + i));
    flat.normal_(0.0, specs_[i].init_std, generator);
  }
}

std::span<float> ParameterArena::weights() {
  return {weights_.data_ptr<float>(), static_cast<size_t>(weights_.numel())};
}

std::span<float> ParameterArena::gradients() {
  return {gradients_.data_ptr<float>(), static_cast<size_t>(gradients_.numel())};
}

void ParameterArena::clear_gradients() {
  const std::span<float> all = gradients();
  std::fill(all.begin(), all.end(), 0.0F);
}

std::string ParameterArena::layout_text() const {
  std::string text;
  for (size_t i = 0; i < specs_.size(); ++i) {
    text += specs_[i].name;
    for (const int64_t extent : specs_[i].shape) text += " " + std::to_string(extent);
    text += " @" + std::to_string(begins_[i]) + "\n";
  }
  return text;
}

int64_t ParameterArena::parameter_count() const {
  int64_t count = 0;
  for (const ParameterSpec& spec : specs_) count += spec.count();
  return count;
}

}  // namespace keiko::train
