#include "ports/journal_fake.h"

#include <gtest/gtest.h>

#include "ports/journal_conformance.h"
#include "ports/journal_loss_conformance.h"

namespace keiko {
namespace {

struct FakeJournalHarness {
  std::unique_ptr<Journal> open() { return std::make_unique<FakeJournal>(disk); }
  std::unique_ptr<Journal> open_rival() { return open(); }
  void crash() { disk->crash(); }
  void fill_disk() { disk->set_capacity(disk->used() + kibibytes(1)); }
  void free_disk() { disk->set_capacity(std::nullopt); }
  void damage(uint64_t sequence) { disk->damage(sequence); }

  std::shared_ptr<FakeJournalDisk> disk = std::make_shared<FakeJournalDisk>();
};
INSTANTIATE_TYPED_TEST_SUITE_P(Fake, JournalConformance, FakeJournalHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Fake, JournalLossConformance, FakeJournalHarness);

class FakeJournalTest : public testing::Test {
 protected:
  std::unique_ptr<FakeJournal> open_acquired() {
    auto journal = std::make_unique<FakeJournal>(disk_);
    MUST(journal->acquire());
    return journal;
  }
  static Done append(Journal& journal, std::vector<std::string> records) {
    return journal.append(records);
  }

  std::shared_ptr<FakeJournalDisk> disk_ = std::make_shared<FakeJournalDisk>();
};

TEST_F(FakeJournalTest, a_torn_append_is_gone_after_the_crash) {
  auto journal = open_acquired();
  MUST(append(*journal, {"1"}));
  disk_->fail_next_append(AppendFault::kTorn);
  EXPECT_EQ(append(*journal, {"2", "3"}).error().code, Code::kUnavailable);
  EXPECT_EQ(append(*journal, {"4"}).error().code, Code::kUnavailable);
  EXPECT_EQ(journal->acquire().error().code, Code::kUnavailable);
  disk_->crash();
  auto again = open_acquired();
  EXPECT_EQ(MUST(again->read(1, 9)).size(), 1u);
  MUST(append(*again, {"2"}));
}

TEST_F(FakeJournalTest, an_append_whose_answer_was_lost_is_there_whole_after_the_crash) {
  auto journal = open_acquired();
  disk_->fail_next_append(AppendFault::kKept);
  EXPECT_EQ(append(*journal, {"1", "2"}).error().code, Code::kUnavailable);
  disk_->crash();
  EXPECT_EQ(MUST(open_acquired()->read(1, 9)).size(), 2u);
}

TEST_F(FakeJournalTest, journals_of_before_the_crash_stay_dead) {
  auto journal = open_acquired();
  disk_->crash();
  EXPECT_EQ(append(*journal, {"1"}).error().code, Code::kUnavailable);
  EXPECT_EQ(journal->read(1, 1).error().code, Code::kUnavailable);
  EXPECT_EQ(journal->latest_snapshot().error().code, Code::kUnavailable);
}

TEST_F(FakeJournalTest, a_lying_disk_drops_whole_batches_from_the_end) {
  auto journal = open_acquired();
  MUST(append(*journal, {"1"}));
  MUST(append(*journal, {"2", "3"}));
  MUST(append(*journal, {"4", "5"}));
  MUST(journal->snapshot(2, "s"));
  disk_->lose_newest_batches(1);
  EXPECT_EQ(disk_->last_sequence(), 3u);
  disk_->lose_newest_batches(5);
  EXPECT_EQ(disk_->last_sequence(), 2u);
  EXPECT_EQ(disk_->used(), Bytes{1});
}

TEST_F(FakeJournalTest, a_damaged_snapshot_is_reported_until_it_is_replaced) {
  auto journal = open_acquired();
  MUST(journal->snapshot(0, "s"));
  disk_->damage(0);
  EXPECT_EQ(journal->latest_snapshot().error().code, Code::kDataLoss);
  MUST(journal->snapshot(0, "t"));
  EXPECT_TRUE(journal->latest_snapshot().ok());
}

TEST_F(FakeJournalTest, a_full_disk_takes_what_still_fits) {
  auto journal = open_acquired();
  disk_->set_capacity(Bytes{4});
  MUST(append(*journal, {"1234"}));
  EXPECT_EQ(append(*journal, {"5"}).error().code, Code::kResourceExhausted);
  EXPECT_EQ(MUST(journal->read(1, 9)).size(), 1u);
}

}  // namespace
}  // namespace keiko
