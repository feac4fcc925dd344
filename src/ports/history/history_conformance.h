// What every History must do, its fake included. A harness is a default-constructible class:
//
//   History& history();      // on the harness's one medium
//   void reopen();           // the server starts again, the medium stays
//   void fill(bool full);    // whether there is no room for more
//
// Include this from a test and instantiate HistoryConformance with the harness.
#pragma once

#include <gtest/gtest.h>

#include "ports/history/history.h"

namespace keiko {

template <class Harness>
class HistoryConformance : public testing::Test {
 protected:
  static constexpr Duration kStep = minutes(1);

  static WallTime minute(int64_t n) { return {minutes(n).ns}; }
  static HistoryRow row(int64_t at, const std::string& node, const Bucket& power) {
    return {kStep, minute(at), node, {{"GPU-1", {{"power_watts", power}}}}};
  }
  History& history() { return harness_.history(); }
  void add(const std::vector<HistoryRow>& rows) {
    const Done added = history().append(rows);
    EXPECT_TRUE(added.ok()) << added.error().text();
  }
  /// What is kept of [since, until) minutes, as text.
  std::string kept(const std::string& node, int64_t since = 0, int64_t until = 1000) {
    const auto rows = history().read({node, kStep, minute(since), minute(until)});
    if (!rows.ok()) return rows.error().text();
    std::string out;
    for (const HistoryRow& one : *rows) {
      out += std::to_string(one.at.ns / minutes(1).ns) + one.node + " ";
    }
    return out;
  }

  Harness harness_;
};
TYPED_TEST_SUITE_P(HistoryConformance);

TYPED_TEST_P(HistoryConformance, an_empty_one_has_nothing) {
  EXPECT_EQ(this->kept(""), "");
  EXPECT_FALSE(MUST(this->history().oldest(this->kStep)).has_value());
  EXPECT_TRUE(this->history().remove(this->kStep, this->minute(9)).ok());
}

TYPED_TEST_P(HistoryConformance, reads_back_what_was_appended_over_a_start) {
  HistoryRow row = this->row(7, "a", {100, 300, 200, 60});
  row.subjects[""]["load_1m"] = {0.5, 0.5, 0.5, 60};
  row.subjects["GPU-1"]["memory_used_bytes"] = {0, 1 << 30, 1 << 29, 59};
  this->add({row});
  this->harness_.reopen();
  const auto rows = MUST(this->history().read({"a", this->kStep, {}, this->minute(8)}));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].at.ns, row.at.ns);
  EXPECT_EQ(rows[0].step, this->kStep);
  EXPECT_EQ(rows[0].subjects, row.subjects);
}

TYPED_TEST_P(HistoryConformance, reads_one_node_or_all_within_the_bounds) {
  this->add({this->row(3, "b", {1, 1, 1, 1}), this->row(1, "a", {1, 1, 1, 1})});
  this->add({this->row(3, "a", {1, 1, 1, 1}), this->row(2, "a", {1, 1, 1, 1})});
  EXPECT_EQ(this->kept("a"), "1a 2a 3a ");
  EXPECT_EQ(this->kept("a", 2, 3), "2a ");
  EXPECT_EQ(this->kept("", 2), "2a 3a 3b ");
  EXPECT_EQ(this->kept("nobody"), "");
  EXPECT_EQ(MUST(this->history().oldest(this->kStep))->ns, this->minute(1).ns);
}

TYPED_TEST_P(HistoryConformance, steps_are_kept_apart) {
  HistoryRow coarse = this->row(10, "a", {1, 1, 1, 1});
  coarse.step = minutes(10);
  this->add({coarse, this->row(11, "a", {2, 2, 2, 1})});
  EXPECT_EQ(this->kept("a"), "11a ");
  EXPECT_TRUE(this->history().remove(this->kStep, this->minute(100)).ok());
  EXPECT_EQ(this->kept("a"), "");
  EXPECT_EQ(MUST(this->history().oldest(minutes(10)))->ns, this->minute(10).ns);
}

TYPED_TEST_P(HistoryConformance, a_span_that_is_told_twice_holds_both) {
  this->add({this->row(5, "a", {100, 200, 150, 30})});
  this->add({this->row(5, "a", {50, 120, 90, 10}), this->row(5, "a", {60, 60, 60, 20})});
  const auto rows = MUST(this->history().read({"a", this->kStep, {}, this->minute(9)}));
  ASSERT_EQ(rows.size(), 1u);
  const Bucket& power = rows[0].subjects.at("GPU-1").at("power_watts");
  EXPECT_EQ(power.min, 50);
  EXPECT_EQ(power.max, 200);
  EXPECT_EQ(power.count, 60);
  EXPECT_NEAR(power.mean, 110, 1e-4);  // (30 * 150 + 10 * 90 + 20 * 60) / 60
}

TYPED_TEST_P(HistoryConformance, removes_what_is_older) {
  for (int64_t at = 1; at <= 5; ++at) this->add({this->row(at, "a", {1, 1, 1, 1})});
  EXPECT_TRUE(this->history().remove(this->kStep, this->minute(4)).ok());
  this->harness_.reopen();
  EXPECT_EQ(this->kept("a"), "4a 5a ");
}

TYPED_TEST_P(HistoryConformance, its_size_follows_what_it_holds) {
  const int64_t before = MUST(this->history().size()).count;
  std::vector<HistoryRow> rows;
  for (int64_t at = 0; at < 3000; ++at) rows.push_back(this->row(at, "a", {1, 2, 1.5, 60}));
  this->add(rows);
  const int64_t full = MUST(this->history().size()).count;
  EXPECT_GT(full, before + 3000 * 10);
  EXPECT_TRUE(this->history().remove(this->kStep, this->minute(2900)).ok());
  EXPECT_LT(MUST(this->history().size()).count, before + (full - before) / 4);
}

TYPED_TEST_P(HistoryConformance, a_full_medium_takes_nothing_and_goes_on_later) {
  this->add({this->row(1, "a", {1, 1, 1, 1})});
  std::vector<HistoryRow> many;
  for (int64_t at = 2; at < 9000; ++at) many.push_back(this->row(at, "a", {1, 2, 1.5, 60}));
  this->harness_.fill(true);
  EXPECT_EQ(this->history().append(many).error().code, Code::kResourceExhausted);
  EXPECT_EQ(this->kept("a"), "1a ");
  this->harness_.fill(false);
  this->add({this->row(2, "a", {1, 1, 1, 1})});
  EXPECT_EQ(this->kept("a"), "1a 2a ");
}

REGISTER_TYPED_TEST_SUITE_P(HistoryConformance, an_empty_one_has_nothing,
                            reads_back_what_was_appended_over_a_start,
                            reads_one_node_or_all_within_the_bounds, steps_are_kept_apart,
                            a_span_that_is_told_twice_holds_both, removes_what_is_older,
                            its_size_follows_what_it_holds,
                            a_full_medium_takes_nothing_and_goes_on_later);

}  // namespace keiko
