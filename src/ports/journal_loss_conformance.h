// What every Journal must keep and what it may drop: snapshots, crashes, full disks and damage.
// The harness is the one of journal_conformance.h.
#pragma once

#include "ports/journal_conformance.h"

namespace keiko {

template <class Harness>
class JournalLossConformance : public JournalConformance<Harness> {};
TYPED_TEST_SUITE_P(JournalLossConformance);

TYPED_TEST_P(JournalLossConformance, a_snapshot_replaces_the_records_up_to_it) {
  auto journal = this->open_acquired();
  MUST(this->append(*journal, {"1", "2", "3", "4"}));
  MUST(this->append(*journal, {"5"}));
  MUST(journal->snapshot(2, "state at 2"));
  const Result<std::vector<JournalRecord>> gone = journal->read(2, 9);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, Code::kOutOfRange);
  EXPECT_EQ(this->bytes_from(*journal, 3), (std::vector<std::string>{"3", "4", "5"}));
  MUST(journal->snapshot(5, "state at 5"));
  EXPECT_TRUE(this->bytes_from(*journal, 6).empty());
  MUST(this->append(*journal, {"6"}));
  EXPECT_EQ(this->bytes_from(*journal, 6), (std::vector<std::string>{"6"}));
  EXPECT_EQ(this->snapshot_text(*journal), "5:state at 5");
}

TYPED_TEST_P(JournalLossConformance, sequences_go_on_after_everything_was_snapshot_and_reopened) {
  {
    auto journal = this->open_acquired();
    MUST(this->append(*journal, {"1", "2", "3"}));
    MUST(journal->snapshot(3, "all"));
  }
  auto journal = this->open_acquired();
  MUST(this->append(*journal, {"4"}));
  EXPECT_EQ(MUST(journal->read(4, 9)).front().sequence, 4u);
}

TYPED_TEST_P(JournalLossConformance, refuses_a_snapshot_of_the_future_or_the_past) {
  auto journal = this->open_acquired();
  MUST(this->append(*journal, {"1", "2"}));
  EXPECT_EQ(journal->snapshot(3, "x").error().code, Code::kInvalidArgument);
  MUST(journal->snapshot(2, "x"));
  EXPECT_EQ(journal->snapshot(1, "x").error().code, Code::kInvalidArgument);
  MUST(journal->snapshot(2, "again"));
  EXPECT_EQ(this->snapshot_text(*journal), "2:again");
}

TYPED_TEST_P(JournalLossConformance, keeps_everything_acknowledged_over_a_crash) {
  auto journal = this->open_acquired();
  MUST(this->append(*journal, {"1"}));
  MUST(journal->snapshot(1, "s"));
  MUST(this->append(*journal, {"2", "3"}));
  this->harness_.crash();
  auto again = this->open_acquired();
  EXPECT_EQ(this->snapshot_text(*again), "1:s");
  EXPECT_EQ(this->bytes_from(*again, 2), (std::vector<std::string>{"2", "3"}));
}

TYPED_TEST_P(JournalLossConformance, a_full_disk_loses_nothing_and_heals_when_there_is_room) {
  auto journal = this->open_acquired();
  MUST(this->append(*journal, {"before"}));
  this->harness_.fill_disk();
  const Done refused = this->append(*journal, {"small", std::string(kLargeRecord, 'x')});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted) << refused.error().text();
  EXPECT_EQ(journal->snapshot(1, std::string(kLargeRecord, 's')).error().code,
            Code::kResourceExhausted);
  EXPECT_EQ(this->bytes_from(*journal, 1), (std::vector<std::string>{"before"}));
  this->harness_.free_disk();
  MUST(this->append(*journal, {std::string(kLargeRecord, 'y')}));
  EXPECT_EQ(MUST(journal->read(2, 9)).front().bytes, std::string(kLargeRecord, 'y'));
}

TYPED_TEST_P(JournalLossConformance, says_which_record_is_damaged_and_hands_out_no_wrong_bytes) {
  {
    auto journal = this->open_acquired();
    MUST(this->append(*journal, {"first record"}));
    MUST(this->append(*journal, {"second record"}));
    MUST(this->append(*journal, {"third record"}));
  }
  this->harness_.damage(2);
  auto journal = this->harness_.open();
  EXPECT_EQ(MUST(journal->read(1, 1)).front().bytes, "first record");
  const auto damaged = journal->read(2, 1);
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().code, Code::kDataLoss);
  EXPECT_NE(damaged.error().message.find("record 2"), std::string::npos) << damaged.error().text();
  EXPECT_EQ(MUST(journal->read(3, 1)).front().bytes, "third record");
}

REGISTER_TYPED_TEST_SUITE_P(
    JournalLossConformance,
    a_snapshot_replaces_the_records_up_to_it,
    sequences_go_on_after_everything_was_snapshot_and_reopened,
    refuses_a_snapshot_of_the_future_or_the_past,
    keeps_everything_acknowledged_over_a_crash,
    a_full_disk_loses_nothing_and_heals_when_there_is_room,
    says_which_record_is_damaged_and_hands_out_no_wrong_bytes);

}  // namespace keiko
