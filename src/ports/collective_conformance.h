// The conformance test of the Collective port: what every driver and the fake must do. A test
// program instantiates the suite with a factory that makes all ranks of a group in one process:
//
//   INSTANTIATE_TEST_SUITE_P(Fake, CollectiveConformance, testing::Values(&make_group));
//
// Expected values are computed here, independently of reduce_parts().
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/time.h"
#include "ports/collective.h"

namespace keiko {

using CollectiveGroup = std::vector<std::unique_ptr<Collective>>;
/// Makes a group of `world` ranks whose operations fail after `op_timeout`.
using CollectiveGroupFactory = CollectiveGroup (*)(int world, Duration op_timeout);

class CollectiveConformance : public testing::TestWithParam<CollectiveGroupFactory> {
 protected:
  static CollectiveGroup make(int world, Duration op_timeout = seconds(30)) {
    return GetParam()(world, op_timeout);
  }

  /// Runs `body(rank's collective)` on one thread per rank; each rank's outcome comes back.
  static std::vector<Done> on_all(CollectiveGroup& group,
                                  const std::function<Done(Collective&)>& body) {
    std::vector<Done> outcomes(group.size(), done());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < group.size(); ++i) {
      if (group[i]) threads.emplace_back([&, i] { outcomes[i] = body(*group[i]); });
    }
    for (std::thread& thread : threads) thread.join();
    return outcomes;
  }

  static void expect_ok(const std::vector<Done>& outcomes) {
    for (const Done& outcome : outcomes) {
      EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().text());
    }
  }

  /// A value that depends on rank and place, small enough that sums are exact in every type.
  static int sample(int rank, size_t i) { return static_cast<int>((i * 7 + 3) % 11) + rank * 2; }

  static int expected(ReduceOp op, int world, size_t i) {
    int result = sample(0, i);
    for (int rank = 1; rank < world; ++rank) {
      const int value = sample(rank, i);
      if (op == ReduceOp::kSum) result += value;
      if (op == ReduceOp::kMax && value > result) result = value;
      if (op == ReduceOp::kMin && value < result) result = value;
    }
    return result;
  }

  template <class T>
  void check_all_reduce(ElementType type, int world, size_t count) {
    CollectiveGroup group = make(world);
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kMin}) {
      std::vector<std::vector<T>> buffers(group.size(), std::vector<T>(count));
      expect_ok(on_all(group, [&](Collective& rank) {
        std::vector<T>& mine = buffers[static_cast<size_t>(rank.rank())];
        for (size_t i = 0; i < count; ++i) mine[i] = static_cast<T>(sample(rank.rank(), i));
        return rank.all_reduce({mine.data(), count, type}, op);
      }));
      for (const std::vector<T>& buffer : buffers) {
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(buffer[i], static_cast<T>(expected(op, world, i))) << to_text(op) << " " << i;
        }
      }
    }
  }
};

TEST_P(CollectiveConformance, reduces_every_type_to_the_right_values) {
  for (const int world : {1, 2, 3}) {
    for (const size_t count : {size_t{1}, size_t{5}, size_t{20'001}}) {
      check_all_reduce<float>(ElementType::kF32, world, count);
    }
    check_all_reduce<double>(ElementType::kF64, world, 4'099);
    check_all_reduce<int64_t>(ElementType::kI64, world, 4'099);
    check_all_reduce<int32_t>(ElementType::kI32, world, 4'099);
    check_all_reduce<uint8_t>(ElementType::kU8, world, 40'003);
  }
}

TEST_P(CollectiveConformance, sums_bf16_in_fp32_and_rounds_once) {
  // 256 + 1 + 1: a bf16 accumulator (8 bits) would drop both ones, fp32 keeps them.
  CollectiveGroup group = make(3);
  for (const size_t count : {size_t{3}, size_t{30'000}}) {
    std::vector<std::vector<uint16_t>> buffers(3);
    expect_ok(on_all(group, [&](Collective& rank) {
      std::vector<uint16_t>& mine = buffers[static_cast<size_t>(rank.rank())];
      mine.assign(count, rank.rank() == 0 ? 0x4380 : 0x3f80);  // 256.0 and 1.0
      return rank.all_reduce({mine.data(), count, ElementType::kBf16}, ReduceOp::kSum);
    }));
    for (const auto& buffer : buffers) {
      for (const uint16_t bits : buffer) ASSERT_EQ(bits, 0x4381);  // 258.0
    }
  }
}

TEST_P(CollectiveConformance, gives_every_rank_the_same_bits_in_rank_order) {
  CollectiveGroup group = make(3);
  for (const size_t count : {size_t{7}, size_t{50'000}}) {
    const auto value = [](int rank, size_t i) {
      return std::sin(static_cast<float>(i * 3 + static_cast<size_t>(rank))) * 1e3F;
    };
    std::vector<std::vector<float>> buffers(3, std::vector<float>(count));
    expect_ok(on_all(group, [&](Collective& rank) {
      std::vector<float>& mine = buffers[static_cast<size_t>(rank.rank())];
      for (size_t i = 0; i < count; ++i) mine[i] = value(rank.rank(), i);
      return rank.all_reduce({mine.data(), count, ElementType::kF32}, ReduceOp::kSum);
    }));
    for (size_t i = 0; i < count; ++i) {
      const float sum = (value(0, i) + value(1, i)) + value(2, i);
      for (const auto& buffer : buffers) ASSERT_EQ(buffer[i], sum) << i;
    }
  }
}

TEST_P(CollectiveConformance, broadcasts_from_any_root) {
  CollectiveGroup group = make(3);
  for (int root = 0; root < 3; ++root) {
    std::vector<std::vector<int32_t>> buffers(3, std::vector<int32_t>(10'000, -1));
    buffers[static_cast<size_t>(root)].assign(10'000, root + 100);
    expect_ok(on_all(group, [&](Collective& rank) {
      auto& mine = buffers[static_cast<size_t>(rank.rank())];
      return rank.broadcast({mine.data(), mine.size(), ElementType::kI32}, root);
    }));
    for (const auto& buffer : buffers) {
      for (const int32_t value : buffer) ASSERT_EQ(value, root + 100);
    }
  }
}

TEST_P(CollectiveConformance, gathers_in_rank_order) {
  CollectiveGroup group = make(3);
  std::vector<std::vector<int64_t>> gathered(3, std::vector<int64_t>(6));
  expect_ok(on_all(group, [&](Collective& rank) {
    std::vector<int64_t> mine = {rank.rank() * 10, rank.rank() * 10 + 1};
    return rank.all_gather({mine.data(), 2, ElementType::kI64},
                           gathered[static_cast<size_t>(rank.rank())].data());
  }));
  for (const auto& all : gathered) EXPECT_EQ(all, (std::vector<int64_t>{0, 1, 10, 11, 20, 21}));
}

TEST_P(CollectiveConformance, accepts_empty_buffers) {
  CollectiveGroup group = make(2);
  expect_ok(on_all(group, [](Collective& rank) -> Done {
    TRY(rank.all_reduce({nullptr, 0, ElementType::kF32}, ReduceOp::kSum));
    TRY(rank.broadcast({nullptr, 0, ElementType::kF32}, 0));
    TRY(rank.all_gather({nullptr, 0, ElementType::kF32}, nullptr));
    return rank.barrier();
  }));
}

TEST_P(CollectiveConformance, abort_wakes_the_waiters_on_every_rank) {
  CollectiveGroup group = make(3);
  const auto begin = std::chrono::steady_clock::now();
  // Rank 2 never joins the barrier; rank 0's abort must free ranks 0 and 1.
  const std::vector<Done> outcomes = on_all(group, [](Collective& rank) -> Done {
    if (rank.rank() == 2) return unavailable("stays away");
    if (rank.rank() == 1) return rank.barrier();
    std::thread aborter([&] { rank.abort("the test says so"); });
    const Done outcome = rank.barrier();
    aborter.join();
    return outcome;
  });
  for (const Done& outcome : outcomes) EXPECT_FALSE(outcome.ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  // The generation is over: later calls fail at once and say why.
  const Done later = group[0]->barrier();
  ASSERT_FALSE(later.ok());
  EXPECT_NE(later.error().message.find("the test says so"), std::string::npos)
      << later.error().message;
}

TEST_P(CollectiveConformance, a_dead_peer_is_an_error_and_not_a_hang) {
  CollectiveGroup group = make(3);
  expect_ok(on_all(group, [](Collective& rank) { return rank.barrier(); }));
  std::vector<float> big(100'000, 1.0F);
  const auto begin = std::chrono::steady_clock::now();
  std::thread killer([&] { group[1].reset(); });
  killer.join();
  const std::vector<Done> outcomes = on_all(group, [&](Collective& rank) {
    std::vector<float> mine = big;
    return rank.all_reduce({mine.data(), mine.size(), ElementType::kF32}, ReduceOp::kSum);
  });
  EXPECT_FALSE(outcomes[0].ok());
  EXPECT_FALSE(outcomes[2].ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

TEST_P(CollectiveConformance, a_silent_peer_is_an_error_after_the_deadline) {
  CollectiveGroup group = make(2, milliseconds(300));
  const Done outcome = group[0]->barrier();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::kDeadlineExceeded) << outcome.error().text();
}

TEST_P(CollectiveConformance, ranks_that_ask_for_different_things_get_an_error) {
  CollectiveGroup group = make(2, milliseconds(500));
  const std::vector<Done> outcomes = on_all(group, [](Collective& rank) {
    std::vector<float> mine(rank.rank() == 0 ? 10'000 : 20'000, 1.0F);
    return rank.all_reduce({mine.data(), mine.size(), ElementType::kF32}, ReduceOp::kSum);
  });
  EXPECT_FALSE(outcomes[0].ok());
  EXPECT_FALSE(outcomes[1].ok());
}

}  // namespace keiko
