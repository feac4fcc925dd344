// The fake and the driver are one journal: under any sequence of operations they give the same
// answers, errors' codes included.
#include "base/prng.h"
#include "drivers/journal/sqlite/journal_harness.h"
#include "ports/journal_fake.h"

namespace keiko {
namespace {

/// The answer of an operation, short enough to stand in a failure's text.
std::string text_of(const Done& result) {
  return result.ok() ? "ok" : std::string(code_name(result.error().code));
}

std::string text_of(const Result<Term>& term) {
  return term.ok() ? "term " + std::to_string(term->number)
                   : std::string(code_name(term.error().code));
}

std::string text_of(const Result<std::vector<JournalRecord>>& records) {
  if (!records.ok()) return std::string(code_name(records.error().code));
  std::string out;
  for (const JournalRecord& record : *records) {
    out += std::to_string(record.sequence) + "/" + std::to_string(record.term.number) + "=" +
           record.bytes + " ";
  }
  return out;
}

std::string text_of(const Result<std::optional<JournalSnapshot>>& snapshot) {
  if (!snapshot.ok()) return std::string(code_name(snapshot.error().code));
  if (!snapshot->has_value()) return "none";
  return std::to_string((*snapshot)->sequence) + "/" + std::to_string((*snapshot)->term.number) +
         "=" + (*snapshot)->bytes;
}

/// A real journal and a fake one, each with two handles that fence one another.
class TwoJournals {
 public:
  TwoJournals() {
    for (size_t handle = 0; handle < 2; ++handle) reopen(handle);
  }

  void reopen(size_t handle) {
    real_[handle].reset();
    real_[handle] =
        MUST(open_sqlite_journal({.directory = folder_.path(), .take_over = true}));
    fake_[handle] = std::make_unique<FakeJournal>(disk_);
  }

  /// Does the same to both and compares what they say.
  template <class Operation>
  void both(size_t handle, const std::string& name, Operation operation) {
    history_ += name + "\n";
    EXPECT_EQ(text_of(operation(*real_[handle])), text_of(operation(*fake_[handle]))) << history_;
  }

  uint64_t last() const { return disk_->last_sequence(); }

 private:
  ScratchFolder folder_;
  std::shared_ptr<FakeJournalDisk> disk_ = std::make_shared<FakeJournalDisk>();
  std::unique_ptr<Journal> real_[2];
  std::unique_ptr<Journal> fake_[2];
  std::string history_;
};

void append_some(TwoJournals& journals, size_t handle, Prng& prng) {
  std::vector<std::string> records(prng.below(5));
  for (std::string& record : records) {
    record = std::string(prng.below(40), static_cast<char>('a' + prng.below(26)));
  }
  journals.both(handle, "append " + std::to_string(records.size()),
                [&](Journal& journal) { return journal.append(records); });
}

void do_something(TwoJournals& journals, Prng& prng) {
  const size_t handle = prng.chance(1, 4) ? 1 : 0;
  const uint64_t at = prng.below(journals.last() + 3);
  const std::string where = " " + std::to_string(at) + " handle " + std::to_string(handle);
  switch (prng.below(10)) {
    case 0: return journals.reopen(handle);
    case 1:
      return journals.both(handle, "acquire" + where, [](Journal& j) { return j.acquire(); });
    case 2:
      return journals.both(handle, "snapshot" + where,
                           [&](Journal& j) { return j.snapshot(at, "s" + std::to_string(at)); });
    case 3:
      return journals.both(handle, "latest" + where,
                           [](Journal& j) { return j.latest_snapshot(); });
    case 4:
    case 5: {
      const size_t most = prng.below(9);
      return journals.both(handle, "read" + where,
                           [&](Journal& j) { return j.read(at + 1, most); });
    }
    default: return append_some(journals, handle, prng);
  }
}

TEST(JournalProperty, the_fake_and_the_driver_answer_alike) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed=" + std::to_string(seed));
    Prng prng(seed);
    TwoJournals journals;
    for (int step = 0; step < 150 && !testing::Test::HasFailure(); ++step) {
      do_something(journals, prng);
    }
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace keiko
