// What differs between the versions of libtorch (1.13 and 2.x) and between its BLAS libraries. The
// only file of this room that asks TORCH_VERSION_MAJOR; everything else includes torch through it.
#pragma once

#include <functional>
#include <memory>

#include "train/torch.h"

namespace keiko::train {

/// One rank computes on one thread: two pools on one core cost more than they give, and the bits of
/// a run depend on the number. Call it before the first tensor is made.
void use_one_thread();

/// RETURNS: "1.13.1", the libtorch that is linked.
const char* torch_version();

/// Calls `ready` on the thread of the backward pass each time the gradient of `leaf` is complete.
/// RETURNS: what must be kept alive for as long as the calls are wanted.
std::shared_ptr<void> on_gradient_ready(const at::Tensor& leaf, std::function<void()> ready);

/// Causal attention over [heads, time, size]. `mask` is [time, time]: 0 below, -inf above.
at::Tensor causal_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            const at::Tensor& mask);

/// While it lives, matrix products run in bf16 (weights and sums stay fp32). Does nothing when off.
class Bf16Scope {
 public:
  explicit Bf16Scope(bool on);
  ~Bf16Scope();
  Bf16Scope(const Bf16Scope&) = delete;
  Bf16Scope& operator=(const Bf16Scope&) = delete;

 private:
  bool on_;
};

}  // namespace keiko::train
