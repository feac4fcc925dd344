// The fake through the port's conformance test, and the shared arithmetic at its edges.
#include "ports/collective.h"

#include <cmath>
#include <limits>

#include "ports/collective_conformance.h"
#include "ports/collective_fake.h"

namespace keiko {
namespace {

CollectiveGroup make_fake_group(int world, Duration op_timeout) {
  return make_fake_collectives({world, op_timeout});
}
INSTANTIATE_TEST_SUITE_P(Fake, CollectiveConformance, testing::Values(&make_fake_group));

TEST(ReduceParts, a_nan_is_never_hidden_by_max_or_min) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float a[] = {1, nan};
  const float b[] = {nan, 2};
  const void* parts[] = {a, b};
  float out[2];
  for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin, ReduceOp::kSum}) {
    reduce_parts(out, parts, 2, ElementType::kF32, op);
    EXPECT_TRUE(std::isnan(out[0])) << to_text(op);
    EXPECT_TRUE(std::isnan(out[1])) << to_text(op);
  }
}

TEST(Bf16, rounds_to_nearest_even_and_keeps_infinity_and_nan) {
  EXPECT_EQ(float_to_bf16(1.0F), 0x3f80);
  EXPECT_EQ(float_to_bf16(257.0F), 0x4380);  // halfway: the even neighbour is 256
  EXPECT_EQ(float_to_bf16(259.0F), 0x4382);  // halfway: the even neighbour is 260
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::infinity()), 0x7f80);
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::nanf("")))));
  EXPECT_EQ(bf16_to_float(0xc000), -2.0F);
}

TEST(FakeCollective, names_both_operations_when_ranks_disagree) {
  auto group = make_fake_collectives({2, seconds(30)});
  Done first = done();
  std::thread other([&] { first = group[0]->barrier(); });
  float value = 1;
  const Done second = group[1]->all_reduce({&value, 1, ElementType::kF32}, ReduceOp::kMax);
  other.join();
  ASSERT_FALSE(first.ok());
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("barrier"), std::string::npos);
  EXPECT_NE(second.error().message.find("all_reduce max of 1 f32"), std::string::npos);
}

}  // namespace
}  // namespace keiko
