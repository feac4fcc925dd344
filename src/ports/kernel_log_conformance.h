// What every KernelLog must do. A test program instantiates the suite with a harness that plays the
// kernel:
//
//   struct FakeHarness {
//     KernelLog& log();
//     void say(const std::string& text);   // one record, sequence numbers grow by one
//     void overwrite(uint64_t count);      // so many of the oldest that nobody has read are gone
//     void say_nonsense();                 // something that is no record
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(Fake, KernelLogConformance, FakeHarness);
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ports/kernel_log.h"

namespace keiko {

template <class Harness>
class KernelLogConformance : public testing::Test {
 protected:
  std::vector<std::string> read(size_t most = 100) {
    std::vector<std::string> texts;
    last_ = MUST(harness_.log().read(most));
    for (const KernelRecord& record : last_.records) texts.push_back(record.text);
    return texts;
  }

  Harness harness_;
  KernelLogBatch last_;
};
TYPED_TEST_SUITE_P(KernelLogConformance);

TYPED_TEST_P(KernelLogConformance, tells_each_record_once_and_in_order) {
  this->harness_.say("one");
  this->harness_.say("two");
  EXPECT_EQ(this->read(), (std::vector<std::string>{"one", "two"}));
  EXPECT_FALSE(this->last_.more);
  this->harness_.say("three");
  EXPECT_EQ(this->read(), std::vector<std::string>{"three"});
  EXPECT_EQ(this->last_.lost, 0u);
}

TYPED_TEST_P(KernelLogConformance, does_not_wait_where_there_is_nothing) {
  EXPECT_TRUE(this->read().empty());
  EXPECT_TRUE(this->read().empty());
  EXPECT_FALSE(this->last_.more);
}

TYPED_TEST_P(KernelLogConformance, gives_no_more_than_was_asked_for_and_says_that_there_is_more) {
  for (int i = 0; i < 5; ++i) this->harness_.say("line " + std::to_string(i));
  EXPECT_EQ(this->read(2), (std::vector<std::string>{"line 0", "line 1"}));
  EXPECT_TRUE(this->last_.more);
  EXPECT_EQ(this->read(2), (std::vector<std::string>{"line 2", "line 3"}));
  EXPECT_EQ(this->read(2), std::vector<std::string>{"line 4"});
}

TYPED_TEST_P(KernelLogConformance, counts_what_was_overwritten) {
  this->harness_.say("first");
  EXPECT_EQ(this->read().size(), 1u);
  for (int i = 0; i < 5; ++i) this->harness_.say("line " + std::to_string(i));
  this->harness_.overwrite(3);
  EXPECT_EQ(this->read(), (std::vector<std::string>{"line 3", "line 4"}));
  EXPECT_EQ(this->last_.lost, 3u);
  this->harness_.say("last");
  EXPECT_EQ(this->read().size(), 1u);
  EXPECT_EQ(this->last_.lost, 0u) << "a gap is told once";
}

TYPED_TEST_P(KernelLogConformance, counts_what_makes_no_sense_and_goes_on) {
  this->harness_.say("one");
  this->harness_.say_nonsense();
  this->harness_.say("two");
  EXPECT_EQ(this->read(), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(this->last_.unreadable, 1u);
}

TYPED_TEST_P(KernelLogConformance, numbers_grow_by_one) {
  for (int i = 0; i < 4; ++i) this->harness_.say("line");
  this->read();
  ASSERT_EQ(this->last_.records.size(), 4u);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(this->last_.records[i].sequence, this->last_.records[i - 1].sequence + 1);
  }
}

REGISTER_TYPED_TEST_SUITE_P(KernelLogConformance, tells_each_record_once_and_in_order,
                            does_not_wait_where_there_is_nothing,
                            gives_no_more_than_was_asked_for_and_says_that_there_is_more,
                            counts_what_was_overwritten,
                            counts_what_makes_no_sense_and_goes_on, numbers_grow_by_one);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KernelLogConformance);

}  // namespace keiko
