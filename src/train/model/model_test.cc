// The model, the optimizer and the reducer, each against an independent way to the same number.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "ports/collective_fake.h"
#include "train/compat.h"
#include "train/loop/reducer.h"
#include "train/model/adamw.h"
#include "train/model/generate.h"
#include "train/model/gpt.h"

namespace keiko::train {
namespace {

const GptShape kTiny{11, 2, 2, 8, 6};

at::Tensor some_tokens(int64_t batch, int64_t time, int64_t vocabulary, int64_t salt) {
  return (at::arange(batch * time) * 7 + salt).remainder(vocabulary).view({batch, time});
}

TEST(TrainGpt, begins_near_the_entropy_of_guessing) {
  const ParameterArena arena(gpt_parameters(kTiny), 1);
  const Gpt model(kTiny, arena);
  const at::Tensor loss =
      model.loss_sum(some_tokens(2, 6, 11, 0), some_tokens(2, 6, 11, 3), {});
  EXPECT_NEAR(loss.item<double>() / 12, std::log(11.0), 0.05);
}

TEST(TrainGpt, does_not_look_ahead) {
  const ParameterArena arena(gpt_parameters(kTiny), 1);
  const Gpt model(kTiny, arena);
  at::Tensor tokens = some_tokens(1, 6, 11, 0);
  const at::Tensor before = model.next_logits(tokens.narrow(1, 0, 4));
  const at::Tensor targets = some_tokens(1, 4, 11, 1);
  const at::Tensor loss = model.loss_sum(tokens.narrow(1, 0, 4), targets, {});
  tokens[0][5] = 9;  // a later token
  EXPECT_TRUE(model.next_logits(tokens.narrow(1, 0, 4)).equal(before));
  EXPECT_TRUE(model.loss_sum(tokens.narrow(1, 0, 4), targets, {}).equal(loss));
}

TEST(TrainGpt, has_the_gradient_that_finite_differences_give) {
  ParameterArena arena(gpt_parameters(kTiny), 3);
  const Gpt model(kTiny, arena);
  const at::Tensor tokens = some_tokens(2, 6, 11, 0);
  const at::Tensor targets = some_tokens(2, 6, 11, 5);
  model.loss_sum(tokens, targets, {}).backward();
  const at::NoGradGuard no_grad;
  for (const size_t parameter : {size_t{0}, size_t{1}, size_t{3}, size_t{7}}) {
    const auto at = static_cast<size_t>(arena.begin(parameter)) + 2;
    float& weight = arena.weights()[at];
    const float kept = weight;
    constexpr float kStep = 2e-3F;
    weight = kept + kStep;
    const double above = model.loss_sum(tokens, targets, {}).item<double>();
    weight = kept - kStep;
    const double below = model.loss_sum(tokens, targets, {}).item<double>();
    weight = kept;
    const double slope = (above - below) / (2 * static_cast<double>(kStep));
    EXPECT_NEAR(arena.gradients()[at], slope, 1e-2 + std::abs(slope) * 1e-2)
        << arena.spec(parameter).name;
  }
}

TEST(TrainGpt, starts_alike_on_every_rank_and_differs_by_seed) {
  ParameterArena one(gpt_parameters(kTiny), 5);
  ParameterArena same(gpt_parameters(kTiny), 5);
  ParameterArena other(gpt_parameters(kTiny), 6);
  const auto equal = [](std::span<float> a, std::span<float> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  EXPECT_TRUE(equal(one.weights(), same.weights()));
  EXPECT_FALSE(equal(one.weights(), other.weights()));
}

TEST(TrainGpt, generates_the_same_text_from_the_same_seed) {
  const GptShape shape{256, 1, 2, 8, 6};
  const ParameterArena arena(gpt_parameters(shape), 1);
  const Gpt model(shape, arena);
  const Tokenizer tokenizer = Tokenizer::bytes();
  const GenerateOptions options{20, "ab", 0.8, 3};
  const std::string text = MUST(generate_text(model, tokenizer, options));
  EXPECT_EQ(text.size(), 22U);
  EXPECT_EQ(MUST(generate_text(model, tokenizer, options)), text);
  EXPECT_FALSE(generate_text(model, tokenizer, {5, "", 0.8, 3}).ok());
}

TEST(TrainAdamW, moves_as_the_librarys_own_does) {
  const at::Tensor start = at::sin(at::arange(37, at::kFloat));
  at::Tensor reference = start.clone().requires_grad_(true);
  torch::optim::AdamW library({reference}, torch::optim::AdamWOptions(1e-2)
                                               .betas(std::make_tuple(0.9, 0.99))
                                               .weight_decay(0.1));
  at::Tensor mine = start.clone();
  AdamW own({0.9, 0.99, 1e-8, 0.1}, {{0, 37, true}}, 37);
  for (int64_t step = 1; step <= 50; ++step) {
    const at::Tensor gradient = at::cos(at::arange(37, at::kFloat) * static_cast<double>(step));
    reference.mutable_grad() = gradient;
    library.step();
    own.step({mine.data_ptr<float>(), 37}, {gradient.data_ptr<float>(), 37},
             {1.0, 1e-2, step});
  }
  EXPECT_TRUE(at::allclose(mine, reference.detach(), 1e-5, 1e-6));
}

TEST(TrainAdamW, spares_what_does_not_decay) {
  std::vector<float> weights(4, 1.0F);
  const std::vector<float> gradients(4, 0.0F);
  AdamW own({0.9, 0.99, 1e-8, 0.1}, {{0, 2, true}, {2, 4, false}}, 4);
  own.step(weights, gradients, {1.0, 0.5, 1});
  EXPECT_FLOAT_EQ(weights[0], 0.95F);
  EXPECT_FLOAT_EQ(weights[3], 1.0F);
}

TEST(TrainAdamW, norm_is_that_of_all_values_together) {
  std::vector<float> values(1003);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3;
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  EXPECT_NEAR(global_norm(values), std::sqrt(sum), 1e-9);
}

/// Runs one backward pass on `world` ranks, each with its own rows, and reduces.
std::vector<std::vector<float>> reduced_gradients(int world, Bytes bucket, size_t* buckets) {
  auto group = make_fake_collectives({world, seconds(30)});
  std::vector<std::vector<float>> results(static_cast<size_t>(world));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      ParameterArena arena(gpt_parameters(kTiny), 1);
      const Gpt model(kTiny, arena);
      GradientReducer reducer(arena, *group[static_cast<size_t>(rank)], bucket);
      if (rank == 0) *buckets = reducer.bucket_count();
      for (int pass = 0; pass < 2; ++pass) {  // the second must not see the first
        arena.clear_gradients();
        reducer.begin_step();
        const int64_t rows = 6 / world;
        model.loss_sum(some_tokens(6, 6, 11, 0).narrow(0, rank * rows, rows),
                       some_tokens(6, 6, 11, 3).narrow(0, rank * rows, rows), {})
            .backward();
        double number = rank + 1;
        MUST(reducer.finish_step({&number, 1}));
        EXPECT_EQ(number, world * (world + 1) / 2);
      }
      const std::span<float> all = arena.gradients();
      results[static_cast<size_t>(rank)].assign(all.begin(), all.end());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(TrainReducer, sums_to_the_gradient_of_one_rank_whatever_the_buckets) {
  size_t buckets = 0;
  const std::vector<float> whole = reduced_gradients(1, kibibytes(1), &buckets)[0];
  EXPECT_EQ(buckets, 0U);
  for (const int world : {2, 3}) {
    for (const Bytes bucket : {Bytes{1}, kibibytes(1), mebibytes(1)}) {
      const auto parts = reduced_gradients(world, bucket, &buckets);
      EXPECT_EQ(buckets == 1, bucket == mebibytes(1));
      for (const std::vector<float>& part : parts) {
        EXPECT_EQ(part, parts[0]);
        ASSERT_EQ(part.size(), whole.size());
        for (size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(part[i], whole[i], 1e-4) << i;
      }
    }
  }
}

TEST(TrainReducer, hands_on_the_error_of_a_lost_peer) {
  auto group = make_fake_collectives({2, seconds(30)});
  group[1].reset();
  ParameterArena arena(gpt_parameters(kTiny), 1);
  const Gpt model(kTiny, arena);
  GradientReducer reducer(arena, *group[0], kibibytes(1));
  reducer.begin_step();
  model.loss_sum(some_tokens(2, 6, 11, 0), some_tokens(2, 6, 11, 3), {}).backward();
  double number = 0;
  const Done outcome = reducer.finish_step({&number, 1});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace keiko::train
