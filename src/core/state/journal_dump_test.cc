#include "core/state/journal_dump.h"

#include <gtest/gtest.h>

#include "core/state/state_fixture.h"

namespace keiko {
namespace {

/// Two nodes, a job, and the journal that led there, cut by a snapshot after some records.
struct Recorded {
  Tables tables;
  std::string bytes;

  explicit Recorded(size_t snapshot_after) {
    tables.add_node("n1", 2);
    tables.add_node("n2", 2);
    MUST(tables.apply(JobSubmitted{{1}, job_spec(2, 1), "token"}));
    State early;
    for (size_t i = 0; i < snapshot_after; ++i) {
      const StateEvent event = MUST(decode_event(tables.journal[i]));
      MUST(apply(early, event));
    }
    bytes = encode_dump_head(snapshot_after, snapshot_after > 0 ? encode_state(early) : "");
    for (size_t i = snapshot_after; i < tables.journal.size(); ++i) {
      bytes += encode_dump_record(7, tables.journal[i]);
    }
  }
};

TEST(JournalDump, replays_to_the_state_that_was_dumped_with_a_snapshot_or_without) {
  for (const size_t snapshot_after : {0, 1, 2, 3}) {
    const Recorded recorded(snapshot_after);
    const JournalDump dump = MUST(decode_dump(recorded.bytes));
    std::vector<uint64_t> seen;
    const auto note = [&](uint64_t sequence, const StateEvent&) { seen.push_back(sequence); };
    const State state = MUST(replay_dump(dump, note));
    EXPECT_EQ(digest_of(state), digest_of(recorded.tables.state)) << snapshot_after;
    ASSERT_EQ(seen.size(), 3 - snapshot_after);
    if (!seen.empty()) {
      EXPECT_EQ(seen.front(), snapshot_after + 1);
    }
  }
}

TEST(JournalDump, cut_off_anywhere_is_refused_or_a_whole_prefix) {
  const Recorded recorded(1);
  const JournalDump whole = MUST(decode_dump(recorded.bytes));
  for (size_t size = 0; size < recorded.bytes.size(); ++size) {
    const Result<JournalDump> cut = decode_dump(std::string_view(recorded.bytes).substr(0, size));
    if (!cut.ok()) continue;
    ASSERT_LT(cut->records.size(), whole.records.size());
    for (size_t i = 0; i < cut->records.size(); ++i) EXPECT_EQ(cut->records[i], whole.records[i]);
  }
}

TEST(JournalDump, says_what_else_the_file_is) {
  EXPECT_NE(decode_dump("SQLite format 3").error().message.find("not a dump"), std::string::npos);
  EXPECT_NE(decode_dump("keiko dump 2\n").error().message.find("version"), std::string::npos);
}

TEST(JournalDump, names_the_record_that_does_not_fit) {
  Recorded recorded(0);
  recorded.bytes += encode_dump_record(7, recorded.tables.journal[2]);  // j1 a second time
  const Result<State> replayed = replay_dump(MUST(decode_dump(recorded.bytes)),
                                             [](uint64_t, const StateEvent&) {});
  ASSERT_FALSE(replayed.ok());
  EXPECT_EQ(replayed.error().code, Code::kDataLoss);
  EXPECT_NE(replayed.error().message.find("record 4"), std::string::npos)
      << replayed.error().message;
}

}  // namespace
}  // namespace keiko
