// What every Journal must do, its fake included. A harness is a default-constructible class:
//
//   std::unique_ptr<Journal> open();        // a journal on the harness's one disk
//   std::unique_ptr<Journal> open_rival();  // a second one, whose acquire() takes over
//   void crash();                           // what is open now dies without goodbye
//   void fill_disk();                       // no room for another batch of kLargeRecord
//   void free_disk();                       // room again
//   void damage(uint64_t sequence);         // flips bits in a record; nothing has it open
//
// Include this and journal_loss_conformance.h from a test and instantiate JournalConformance and
// JournalLossConformance with the harness.
#pragma once

#include <memory>

#include <gtest/gtest.h>

#include "ports/journal.h"

namespace keiko {

constexpr size_t kLargeRecord = 256 << 10;  // more than any disk that is full has left

template <class Harness>
class JournalConformance : public testing::Test {
 protected:
  std::unique_ptr<Journal> open_acquired() {
    auto journal = harness_.open();
    EXPECT_TRUE(journal->acquire().ok());
    return journal;
  }

  static Done append(Journal& journal, std::vector<std::string> records) {
    return journal.append(records);
  }

  static std::vector<std::string> bytes_from(Journal& journal, uint64_t from) {
    std::vector<std::string> out;
    auto records = journal.read(from, 1'000'000);
    if (!records.ok()) return {records.error().text()};
    for (size_t i = 0; i < records->size(); ++i) {
      EXPECT_EQ((*records)[i].sequence, from + i);
      out.push_back((*records)[i].bytes);
    }
    return out;
  }

  /// RETURNS: the snapshot as "sequence:bytes", or what stands in its place.
  static std::string snapshot_text(Journal& journal) {
    auto snapshot = journal.latest_snapshot();
    if (!snapshot.ok()) return snapshot.error().text();
    if (!snapshot->has_value()) return "none";
    return std::to_string((*snapshot)->sequence) + ":" + (*snapshot)->bytes;
  }

  Harness harness_;
};
TYPED_TEST_SUITE_P(JournalConformance);

TYPED_TEST_P(JournalConformance, starts_empty_and_reads_back_what_was_appended) {
  auto journal = this->open_acquired();
  EXPECT_TRUE(this->bytes_from(*journal, 1).empty());
  EXPECT_EQ(this->snapshot_text(*journal), "none");
  MUST(this->append(*journal, {"one"}));
  MUST(this->append(*journal, {"two", std::string("th\0ee", 5), ""}));
  const std::vector<std::string> all = {"one", "two", std::string("th\0ee", 5), ""};
  EXPECT_EQ(this->bytes_from(*journal, 1), all);
  EXPECT_EQ(this->bytes_from(*journal, 3), (std::vector<std::string>{all[2], all[3]}));
  EXPECT_TRUE(this->bytes_from(*journal, 5).empty());
  EXPECT_TRUE(this->bytes_from(*journal, 99).empty());
}

TYPED_TEST_P(JournalConformance, reads_in_pages_of_any_size) {
  auto journal = this->open_acquired();
  for (int batch = 0; batch < 5; ++batch) MUST(this->append(*journal, {"a", "b", "c"}));
  for (size_t page = 1; page <= 16; ++page) {
    uint64_t next = 1;
    for (;;) {
      const auto records = MUST(journal->read(next, page));
      ASSERT_LE(records.size(), page);
      if (records.empty()) break;
      for (const JournalRecord& record : records) ASSERT_EQ(record.sequence, next++);
    }
    EXPECT_EQ(next, 16u);
  }
  EXPECT_TRUE(MUST(journal->read(1, 0)).empty());
}

TYPED_TEST_P(JournalConformance, an_empty_batch_changes_nothing) {
  auto journal = this->open_acquired();
  MUST(this->append(*journal, {}));
  MUST(this->append(*journal, {"first"}));
  EXPECT_EQ(MUST(journal->read(1, 9)).front().sequence, 1u);
}

TYPED_TEST_P(JournalConformance, keeps_records_of_every_size) {
  auto journal = this->open_acquired();
  std::vector<std::string> records;
  for (const size_t size : {0, 1, 127, 128, 4095, 4096, 4097, 70'000, 300'000}) {
    records.emplace_back(size, static_cast<char>('a' + size % 23));
  }
  MUST(journal->append(records));
  EXPECT_EQ(this->bytes_from(*journal, 1), records);
}

TYPED_TEST_P(JournalConformance, a_writer_must_acquire_first) {
  auto journal = this->harness_.open();
  const Done appended = this->append(*journal, {"x"});
  ASSERT_FALSE(appended.ok());
  EXPECT_EQ(appended.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(journal->snapshot(0, "x").error().code, Code::kFailedPrecondition);
}

TYPED_TEST_P(JournalConformance, a_second_writer_fences_the_first_which_hears_of_it) {
  auto first = this->harness_.open();
  const Term first_term = MUST(first->acquire());
  MUST(this->append(*first, {"mine"}));
  auto second = this->harness_.open_rival();
  const Term second_term = MUST(second->acquire());
  EXPECT_GT(second_term, first_term);
  const Done late = this->append(*first, {"too late"});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, Code::kAborted);
  EXPECT_NE(late.error().message.find("term " + std::to_string(second_term.number)),
            std::string::npos) << late.error().text();
  EXPECT_EQ(this->append(*first, {}).error().code, Code::kAborted);
  EXPECT_EQ(first->snapshot(1, "stale").error().code, Code::kAborted);
  MUST(this->append(*second, {"theirs"}));
  const auto records = MUST(second->read(1, 9));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0], (JournalRecord{1, first_term, "mine"}));
  EXPECT_EQ(records[1], (JournalRecord{2, second_term, "theirs"}));
}

TYPED_TEST_P(JournalConformance, terms_grow_over_reopening) {
  Term last;
  for (int i = 0; i < 4; ++i) {
    auto journal = this->harness_.open();
    const Term term = MUST(journal->acquire());
    EXPECT_GT(term, last);
    last = term;
  }
}

TYPED_TEST_P(JournalConformance, a_reader_without_a_term_follows_the_writer) {
  auto writer = this->open_acquired();
  auto reader = this->harness_.open();
  MUST(this->append(*writer, {"a"}));
  EXPECT_EQ(MUST(reader->read(1, 9)).size(), 1u);
  MUST(this->append(*writer, {"b"}));
  EXPECT_EQ(MUST(reader->read(2, 9)).front().bytes, "b");
  MUST(writer->snapshot(2, "ab"));
  EXPECT_EQ(this->snapshot_text(*reader), "2:ab");
  EXPECT_EQ(reader->read(1, 9).error().code, Code::kOutOfRange);
}

REGISTER_TYPED_TEST_SUITE_P(
    JournalConformance,
    starts_empty_and_reads_back_what_was_appended,
    reads_in_pages_of_any_size,
    an_empty_batch_changes_nothing,
    keeps_records_of_every_size,
    a_writer_must_acquire_first,
    a_second_writer_fences_the_first_which_hears_of_it,
    terms_grow_over_reopening,
    a_reader_without_a_term_follows_the_writer);

}  // namespace keiko
