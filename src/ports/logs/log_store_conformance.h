// What every LogStore must do, its fake included. A harness is a default-constructible class:
//
//   LogStore& store();       // on the harness's one medium
//   void reopen();           // the server starts again, the medium stays
//   void fill(bool full);    // whether there is no room for a byte more
//
// Include this from a test and instantiate LogStoreConformance with the harness.
#pragma once

#include <gtest/gtest.h>

#include "ports/logs/log_store.h"

namespace keiko {

template <class Harness>
class LogStoreConformance : public testing::Test {
 protected:
  static LogName name(int32_t rank = 0, uint64_t job = 1) {
    return {{JobId{job}, 1, rank}, LogStream::kOut};
  }
  static WallTime at(int64_t second) { return {second * 1'000'000'000}; }
  LogStore& store() { return harness_.store(); }
  void add(const std::string& text, int64_t second = 1) {
    const Done added = store().append(name(), text, false, at(second));
    EXPECT_TRUE(added.ok()) << added.error().text();
  }
  std::string all(int64_t offset = 0, size_t most = 1 << 20) {
    const Result<LogText> text = store().read({name(), offset, most, false});
    return text.ok() ? text->data : text.error().text();
  }

  Harness harness_;
};
TYPED_TEST_SUITE_P(LogStoreConformance);

TYPED_TEST_P(LogStoreConformance, what_was_never_written_is_not_found) {
  EXPECT_EQ(this->store().extent(this->name()).error().code, Code::kNotFound);
  EXPECT_EQ(this->store().read({this->name(), 0, 10, false}).error().code, Code::kNotFound);
}

TYPED_TEST_P(LogStoreConformance, reads_back_what_was_appended_from_any_place) {
  this->add("hello ");
  this->add("world\n");
  EXPECT_EQ(MUST(this->store().extent(this->name())).size, 12);
  EXPECT_EQ(this->all(), "hello world\n");
  EXPECT_EQ(this->all(3, 5), "lo wo");
  EXPECT_EQ(this->all(12), "");
  EXPECT_EQ(this->all(99), "");
}

TYPED_TEST_P(LogStoreConformance, an_ended_log_takes_no_more_and_stays_so) {
  this->add("last words");
  EXPECT_TRUE(this->store().append(this->name(), "", true, this->at(1)).ok());
  EXPECT_TRUE(this->store().append(this->name(1), "", true, this->at(1)).ok());
  EXPECT_EQ(this->store().append(this->name(), "x", false, this->at(2)).error().code,
            Code::kFailedPrecondition);
  EXPECT_TRUE(this->store().append(this->name(), "", true, this->at(2)).ok());
  EXPECT_TRUE(this->store().sync().ok());
  this->harness_.reopen();
  EXPECT_TRUE(this->store().append(this->name(), "", true, this->at(3)).ok());
  EXPECT_TRUE(MUST(this->store().extent(this->name())).ended);
  EXPECT_TRUE(MUST(this->store().extent(this->name(1))).ended);
  EXPECT_EQ(MUST(this->store().extent(this->name(1))).size, 0);
  EXPECT_EQ(this->all(), "last words");
}

TYPED_TEST_P(LogStoreConformance, goes_on_at_its_end_after_a_start) {
  this->add("before;");
  EXPECT_TRUE(this->store().sync().ok());
  this->harness_.reopen();
  EXPECT_EQ(MUST(this->store().extent(this->name())).size, 7);
  this->add("after;");
  EXPECT_EQ(this->all(), "before;after;");
}

TYPED_TEST_P(LogStoreConformance, a_full_medium_changes_nothing_and_is_named) {
  this->add("fits");
  this->harness_.fill(true);
  const Done added = this->store().append(this->name(), "too much", false, this->at(2));
  this->harness_.fill(false);
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, Code::kResourceExhausted) << added.error().text();
  EXPECT_EQ(this->all(), "fits");
  this->add(" again");
  EXPECT_EQ(this->all(), "fits again");
}

TYPED_TEST_P(LogStoreConformance, knows_when_bytes_came) {
  this->add("one\n", 10);
  this->add("two\n", 20);
  this->add("three\n", 30);
  EXPECT_EQ(MUST(this->store().offset_since(this->name(), this->at(5))), 0);
  EXPECT_EQ(MUST(this->store().offset_since(this->name(), this->at(11))), 4);
  EXPECT_EQ(MUST(this->store().offset_since(this->name(), this->at(20))), 4);
  EXPECT_EQ(MUST(this->store().offset_since(this->name(), this->at(31))), 14);
  const LogText text = MUST(this->store().read({this->name(), 5, 5, true}));
  EXPECT_EQ(text.data, "wo\nth");
  ASSERT_EQ(text.marks.size(), 2u);
  EXPECT_EQ(text.marks[0].offset, 4);
  EXPECT_EQ(text.marks[0].at.ns, this->at(20).ns);
  EXPECT_EQ(text.marks[1].offset, 8);
  EXPECT_EQ(text.marks[1].at.ns, this->at(30).ns);
}

TYPED_TEST_P(LogStoreConformance, tells_what_each_job_takes) {
  this->add("12345");
  EXPECT_TRUE(this->store().append(this->name(0, 2), "123", true, this->at(1)).ok());
  const std::vector<KeptLogs> usage = MUST(this->store().usage());
  ASSERT_EQ(usage.size(), 2u);
  EXPECT_EQ(usage[0].job, JobId{1});
  EXPECT_GE(usage[0].size.count, 5);
  EXPECT_EQ(usage[1].job, JobId{2});
  EXPECT_GT(MUST(this->store().free_space()).count, 0);
}

TYPED_TEST_P(LogStoreConformance, removed_logs_tell_why_for_ever) {
  this->add("old");
  EXPECT_TRUE(this->store().remove(JobId{1}, "removed after 7d").ok());
  this->harness_.reopen();
  const Result<LogExtent> extent = this->store().extent(this->name());
  ASSERT_FALSE(extent.ok());
  EXPECT_EQ(extent.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(extent.error().message, "removed after 7d");
  EXPECT_EQ(this->store().append(this->name(), "x", false, this->at(1)).error().code,
            Code::kFailedPrecondition);
  EXPECT_TRUE(MUST(this->store().usage()).empty());
}

REGISTER_TYPED_TEST_SUITE_P(LogStoreConformance, what_was_never_written_is_not_found,
                            reads_back_what_was_appended_from_any_place,
                            an_ended_log_takes_no_more_and_stays_so,
                            goes_on_at_its_end_after_a_start,
                            a_full_medium_changes_nothing_and_is_named, knows_when_bytes_came,
                            tells_what_each_job_takes, removed_logs_tell_why_for_ever);

}  // namespace keiko
