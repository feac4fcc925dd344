// What this driver adds to the port: damage, a disk that is nearly full, files that are not its
// own.
#include "drivers/history/sqlite/sqlite_history.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <fstream>
#include <map>

#include "base/log.h"
#include "base/prng.h"
#include "drivers/history/sqlite/history_harness.h"
#include "drivers/history/sqlite/history_row.h"

namespace keiko {
namespace {

namespace fs = std::filesystem;

WallTime minute(int64_t n) { return {minutes(n).ns}; }

HistoryRow row_at(int64_t at, double watts) {
  return {minutes(1), minute(at), "a",
          {{"GPU-1", {{"power_watts", {watts, watts + 1, watts + 0.5, 60}}}}}};
}

/// RETURNS: how many spans it has, or what is wrong.
std::string count_of(History& history) {
  const auto rows = history.read({"", minutes(1), {}, {minutes(100'000).ns}});
  return rows.ok() ? std::to_string(rows->size()) : rows.error().text();
}

/// Writes a few hundred spans and closes the file.
void fill_folder(const HistoryFolder& folder) {
  const auto history = MUST(open_sqlite_history({folder.path(), Bytes{}, Bytes{}}));
  std::vector<HistoryRow> rows;
  for (int64_t at = 0; at < 900; ++at) rows.push_back(row_at(at, static_cast<double>(at)));
  MUST(history->append(rows));
}

void run_sql(const HistoryFolder& folder, const std::string& sql) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(folder.file().c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  sqlite3_close(connection);
}

TEST(SqliteHistory, begins_anew_beside_a_damaged_file_and_keeps_that) {
  set_log_level(LogLevel::kOff);
  HistoryFolder folder;
  fill_folder(folder);
  std::ofstream(folder.file(), std::ios::binary | std::ios::trunc) << std::string(9000, 'x');
  const auto history = MUST(open_sqlite_history({folder.path(), Bytes{}, Bytes{}}));
  EXPECT_EQ(count_of(*history), "0");
  EXPECT_TRUE(history->append({row_at(1, 1)}).ok());
  EXPECT_EQ(count_of(*history), "1");
  EXPECT_EQ(fs::file_size(folder.file() + ".damaged"), 9000u);
}

TEST(SqliteHistory, goes_on_when_damage_is_met_while_it_runs) {
  set_log_level(LogLevel::kOff);
  HistoryFolder folder;
  fill_folder(folder);
  run_sql(folder, "UPDATE spans SET body=x'0102030405' WHERE at=120000000000");
  const auto history = MUST(open_sqlite_history({folder.path(), Bytes{}, Bytes{}}));
  EXPECT_TRUE(history->append({row_at(1, 1)}).ok()) << "another span's is sound";
  EXPECT_EQ(count_of(*history), "0");
  EXPECT_TRUE(history->append({row_at(2, 1)}).ok());
  EXPECT_EQ(count_of(*history), "1");
}

TEST(SqliteHistory, a_file_garbled_anywhere_never_ends_it) {
  set_log_level(LogLevel::kOff);
  HistoryFolder sound;
  fill_folder(sound);
  const auto size = static_cast<uint64_t>(fs::file_size(sound.file()));
  Prng prng(5);
  for (int round = 0; round < 60; ++round) {
    HistoryFolder folder;
    fs::copy(sound.path(), folder.path(), fs::copy_options::recursive);
    const uint64_t at = prng.below(round % 2 == 0 ? size : 3 * 4096);
    SCOPED_TRACE("garbled at " + std::to_string(at));
    std::fstream file(folder.file(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file << "\xff\x01\x80\x7f\xaa\x55";
    file.close();
    const auto history = open_sqlite_history({folder.path(), Bytes{}, Bytes{}});
    // A header that names another program's file is left alone.
    if (!history.ok() && history.error().code == Code::kFailedPrecondition) continue;
    ASSERT_TRUE(history.ok()) << history.error().text();
    const auto rows = (*history)->read({"", minutes(1), {}, {minutes(100'000).ns}});
    ASSERT_TRUE(rows.ok()) << rows.error().text();
    EXPECT_TRUE((*history)->append({row_at(5000, 1)}).ok());
  }
}

/// Makes of a file what the first format was.
void make_format_one(const HistoryFolder& folder) {
  run_sql(folder,
          "ALTER TABLE spans RENAME TO later; DROP INDEX spans_by_node;"
          "CREATE TABLE spans(step INTEGER NOT NULL, node INTEGER NOT NULL, at INTEGER NOT NULL, "
          "body BLOB NOT NULL, PRIMARY KEY(step, node, at)) WITHOUT ROWID;"
          "INSERT INTO spans SELECT * FROM later; DROP TABLE later; PRAGMA user_version=1");
}

TEST(SqliteHistory, a_file_of_the_first_format_keeps_its_past) {
  HistoryFolder folder;
  fill_folder(folder);
  make_format_one(folder);
  for (int start = 0; start < 2; ++start) {
    const auto history = MUST(open_sqlite_history({folder.path(), Bytes{}, Bytes{}}));
    const auto rows = MUST(history->read({"a", minutes(1), minute(7), minute(8)}));
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].subjects, row_at(7, 7).subjects);
    EXPECT_EQ(count_of(*history), std::to_string(900 + start));
    EXPECT_TRUE(history->append({row_at(900 + start, 1)}).ok());
  }
  EXPECT_FALSE(fs::exists(folder.file() + ".damaged"));
}

TEST(SqliteHistory, a_file_of_a_later_format_is_left_alone_and_named) {
  HistoryFolder folder;
  fill_folder(folder);
  run_sql(folder, "PRAGMA user_version=3");
  const auto history = open_sqlite_history({folder.path(), Bytes{}, Bytes{}});
  ASSERT_FALSE(history.ok());
  EXPECT_EQ(history.error().code, Code::kFailedPrecondition);
  EXPECT_NE(history.error().message.find("newer Keiko"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder.file() + ".damaged"));
}

/// A node of 8 GPUs: 71 metrics, as the server gets them.
HistoryRow wide_row(int64_t minute_of, Duration step) {
  HistoryRow row{step, span_begin(minute(minute_of), step), "a", {}};
  for (int device = 0; device < 8; ++device) {
    for (int metric = 0; metric < 9; ++metric) {
      const double value = static_cast<double>(minute_of * 100 + device * 10 + metric);
      row.subjects["GPU-" + std::to_string(device)]["metric" + std::to_string(metric)] = {
          value, value + 2, value + 1, 60};
    }
  }
  return row;
}

TEST(SqliteHistory, the_file_is_little_larger_than_what_it_keeps) {
  HistoryFolder folder;
  const auto history = MUST(open_sqlite_history({folder.path(), Bytes{}, Bytes{}}));
  size_t rows = 0;
  for (int64_t at = 0; at < 1500; ++at) {
    MUST(history->append({wide_row(at, minutes(1)), wide_row(at, minutes(15))}));
    rows += at % 15 == 0 ? 2 : 1;
  }
  std::map<std::string, uint64_t> numbers;
  const std::string body = sqlite_history::pack(
      wide_row(1, minutes(1)).subjects, [&](const std::string& word) {
        return numbers.try_emplace(word, numbers.size() + 1).first->second;
      });
  EXPECT_GT(body.size(), 900u) << "such rows did not fit a quarter of a page";
  EXPECT_LT(static_cast<double>(MUST(history->size()).count),
            1.5 * static_cast<double>(rows * body.size()));
}

TEST(SqliteHistory, another_program_s_file_is_left_alone) {
  HistoryFolder folder;
  run_sql(folder, "CREATE TABLE songs(name TEXT)");
  const auto history = open_sqlite_history({folder.path(), Bytes{}, Bytes{}});
  ASSERT_FALSE(history.ok());
  EXPECT_EQ(history.error().code, Code::kFailedPrecondition);
  EXPECT_NE(history.error().message.find("is not a history of Keiko"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder.file() + ".damaged"));
}

TEST(SqliteHistory, leaves_the_journal_the_last_of_the_disk) {
  HistoryFolder folder;
  const auto history =
      MUST(open_sqlite_history({folder.path(), gibibytes(int64_t{1} << 30), Bytes{}}));
  const Done added = history->append({row_at(1, 1)});
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, Code::kResourceExhausted);
  EXPECT_NE(added.error().message.find("the journal needs the last"), std::string::npos);
  EXPECT_EQ(count_of(*history), "0");
}

TEST(SqliteHistory, what_was_written_survives_a_process_that_does_not_close) {
  HistoryFolder folder;
  HistoryFolder after;
  const auto history = MUST(open_sqlite_history({folder.path(), Bytes{}, Bytes{}}));
  for (int64_t at = 0; at < 20; ++at) MUST(history->append({row_at(at, 1)}));
  fs::copy(folder.path(), after.path(), fs::copy_options::recursive);
  fs::remove(after.file() + "-shm");
  EXPECT_EQ(count_of(*MUST(open_sqlite_history({after.path(), Bytes{}, Bytes{}}))), "20");
}

TEST(HistoryBody, equal_numbers_take_a_third_and_cut_ones_are_noticed) {
  const auto number_of = [](const std::string& word) { return word.empty() ? 1u : 2u; };
  const std::string word = "x";
  const std::string empty;
  const auto word_of = [&](uint64_t number) -> const std::string* {
    return number == 1 ? &empty : number == 2 ? &word : nullptr;
  };
  const std::string equal = sqlite_history::pack({{"", {{"x", {3, 3, 3, 60}}}}}, number_of);
  const std::string spread = sqlite_history::pack({{"", {{"x", {1, 5, 3, 60}}}}}, number_of);
  EXPECT_EQ(equal.size() + 8, spread.size());
  SubjectBuckets back;
  ASSERT_TRUE(sqlite_history::unpack(spread, word_of, back));
  EXPECT_EQ(back.at("").at("x"), (Bucket{1, 5, 3, 60}));
  for (size_t cut = 1; cut < spread.size(); ++cut) {
    SubjectBuckets none;
    EXPECT_FALSE(sqlite_history::unpack(spread.substr(0, cut), word_of, none)) << cut;
  }
  const std::string huge = sqlite_history::pack({{"", {{"x", {0, 1e300, 1e299, 1}}}}}, number_of);
  back.clear();
  ASSERT_TRUE(sqlite_history::unpack(huge, word_of, back));
  EXPECT_TRUE(std::isfinite(back.at("").at("x").max));
}

}  // namespace
}  // namespace keiko
