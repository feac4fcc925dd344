#include "train/compat.h"

#include <ATen/autocast_mode.h>
#include <dlfcn.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <cmath>
#include <cstdlib>

namespace keiko::train {
namespace {

/// Carries a plain function into autograd's hook interface.
class ReadyHook : public torch::autograd::FunctionPostHook {
 public:
  explicit ReadyHook(std::function<void()> ready) : ready_(std::move(ready)) {}

  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& outputs,
      const torch::autograd::variable_list& /*inputs*/) override {
    ready_();
    return outputs;
  }

 private:
  std::function<void()> ready_;
};

}  // namespace

void use_one_thread() {
  // For children and for libraries that are loaded later.
  setenv("OMP_NUM_THREADS", "1", 0);
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  // OpenBLAS read its variable before main(); this is how it is told afterwards.
  using SetThreads = void (*)(int);
  if (void* set = dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<SetThreads>(set)(1);
  }
  at::set_num_threads(1);
  at::globalContext().setDeterministicAlgorithms(true, false);
}

const char* torch_version() { return TORCH_VERSION; }

std::shared_ptr<void> on_gradient_ready(const at::Tensor& leaf, std::function<void()> ready) {
  auto accumulator = torch::autograd::impl::grad_accumulator(leaf);
  accumulator->add_post_hook(std::make_unique<ReadyHook>(std::move(ready)));
  return accumulator;
}

at::Tensor causal_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            const at::Tensor& mask) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(query.size(-1)));
  const at::Tensor scores = at::baddbmm(mask, query, key.transpose(1, 2), 1.0, scale);
  return at::bmm(at::softmax(scores, -1), value);
}

Bf16Scope::Bf16Scope(bool on) : on_(on) {
  if (!on_) return;
  at::autocast::set_cpu_enabled(true);
  at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
  at::autocast::increment_nesting();
}

Bf16Scope::~Bf16Scope() {
  if (!on_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_cpu_enabled(false);
}

}  // namespace keiko::train
