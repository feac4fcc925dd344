// Every verb is one transaction or one read; what is damaged makes the file begin anew.
#include "drivers/history/sqlite/sqlite_history.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <set>
#include <tuple>

#include "base/log.h"
#include "base/text.h"
#include "drivers/history/sqlite/history_row.h"
#include "drivers/history/sqlite/words.h"
#include "drivers/sqlite/database.h"

namespace keiko {
namespace {

using sqlite::Database;
using sqlite::Statement;
using sqlite::Table;
using sqlite::Upgrade;

constexpr std::string_view kSpans =
    "CREATE TABLE spans(step INTEGER NOT NULL, node INTEGER NOT NULL, at INTEGER NOT NULL, "
    "body BLOB NOT NULL)";
constexpr std::string_view kSpansByNode =
    "CREATE UNIQUE INDEX spans_by_node ON spans(step, node, at)";

constexpr Table kTables[] = {
    {"words", "CREATE TABLE words(number INTEGER PRIMARY KEY, word BLOB NOT NULL)"},
    {"spans", kSpans},
    {"spans_by_node", kSpansByNode},
};

/// Format 1 kept the rows in the index itself. SQLite gives an index's row a quarter of a page and
/// puts what is beyond into pages of its own, so that a row of 1.1 KB took 5.5 KB.
constexpr std::string_view kFromOne[] = {
    "ALTER TABLE spans RENAME TO older_spans",
    kSpans,
    kSpansByNode,
    "INSERT INTO spans SELECT step, node, at, body FROM older_spans ORDER BY at",
    "DROP TABLE older_spans",
};
constexpr Upgrade kUpgrades[] = {{1, kFromOne}};

sqlite::DatabaseOptions file_of(const SqliteHistoryOptions& options) {
  sqlite::DatabaseOptions file;
  file.directory = options.directory;
  file.file = "history.db";
  file.content = "a history of Keiko";
  file.remedy = "it begins anew";
  file.application_id = 0x4b656968;  // "Keih"
  file.schema_version = 2;
  file.tables = kTables;
  file.upgrades = kUpgrades;
  file.flush_commits = false;
  file.max_size = options.max_size;
  return file;
}

class SqliteHistory : public History {
 public:
  explicit SqliteHistory(SqliteHistoryOptions options) : options_(std::move(options)) {}

  /// Opens the file; one that is damaged is put aside.
  Done open() { return surely([] { return done(); }); }

  Done append(const std::vector<HistoryRow>& rows) override {
    return surely([&] { return append_once(rows); });
  }
  Result<std::vector<HistoryRow>> read(const HistoryQuery& query) override {
    return surely([&] { return read_once(query); });
  }
  Result<std::optional<WallTime>> oldest(Duration step) override {
    return surely([&] { return oldest_once(step); });
  }
  Done remove(Duration step, WallTime before) override {
    return surely([&] { return remove_once(step, before); });
  }
  Result<Bytes> size() override {
    return surely([this] { return size_once(); });
  }

 private:
  /// Does it again with an empty file where the first try finds damage.
  template <class Work>
  auto surely(Work work) -> decltype(work()) {
    const Done opened = database_ ? done() : open_once();
    if (!opened.ok()) {
      if (opened.error().code != Code::kDataLoss) return opened.error();
      TRY(begin_anew(opened.error()));
      return work();
    }
    auto result = work();
    if (result.ok() || result.error().code != Code::kDataLoss) return result;
    TRY(begin_anew(result.error()));
    return work();
  }

  Done open_once();
  Done begin_anew(const Error& why);
  Done check_free() const;
  Done transaction(const std::function<Done()>& work);
  Done append_once(const std::vector<HistoryRow>& rows);
  Done put(const HistoryRow& row);
  Result<SubjectBuckets> unpack_body(std::string_view body) const;
  Result<std::vector<HistoryRow>> read_once(const HistoryQuery& query);
  Result<std::set<uint64_t>> nodes_of(Duration step);
  Result<std::optional<WallTime>> oldest_once(Duration step);
  Done remove_once(Duration step, WallTime before);
  Result<Bytes> size_once();

  const SqliteHistoryOptions options_;
  sqlite_history::Words words_;
  std::unique_ptr<Database> database_;  // before the statements, which must go first
  Statement find_;
  Statement put_;
};

uint64_t key(Duration step) { return static_cast<uint64_t>(step.ns); }
uint64_t key(WallTime at) { return static_cast<uint64_t>(at.ns); }

Done SqliteHistory::open_once() {
  find_ = {};
  put_ = {};
  database_.reset();
  std::unique_ptr<Database> database = TRY(Database::open(file_of(options_)));
  TRY(words_.load(*database));
  find_ = TRY(database->prepare("SELECT body FROM spans WHERE step=? AND node=? AND at=?"));
  // A REPLACE would move the row to the table's end.
  put_ = TRY(database->prepare("INSERT INTO spans VALUES(?, ?, ?, ?) ON CONFLICT(step, node, at) "
                               "DO UPDATE SET body=excluded.body"));
  database_ = std::move(database);
  return done();
}

Done SqliteHistory::begin_anew(const Error& why) {
  find_ = {};
  put_ = {};
  database_.reset();
  const std::string file = options_.directory + "/history.db";
  log_error("history_damaged", "why=" + quote_text(why.message) + " kept_as=" + file +
                                   ".damaged effect=\"the history begins anew\"");
  // Without its log the file must not be met by the new one's.
  for (const char* suffix : {"-wal", "-shm"}) {
    if (std::remove((file + suffix).c_str()) != 0 && errno != ENOENT) {
      return errno_error("remove " + file + suffix, errno);
    }
  }
  if (std::rename(file.c_str(), (file + ".damaged").c_str()) != 0 && errno != ENOENT) {
    return errno_error("put " + file + " aside", errno);
  }
  return open_once();
}

Done SqliteHistory::check_free() const {
  struct statvfs disk{};
  if (options_.floor.count == 0 || statvfs(options_.directory.c_str(), &disk) != 0) return done();
  const Bytes free{static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize)};
  if (free >= options_.floor) return done();
  return resource_exhausted("the disk of " + options_.directory + " has " + to_text(free) +
                            " free and the journal needs the last " + to_text(options_.floor) +
                            "; make room, and the history goes on");
}

Done SqliteHistory::transaction(const std::function<Done()>& work) {
  const Done worked = database_->transaction(work);
  if (!worked.ok()) TRY(words_.load(*database_));
  return worked;
}

Done SqliteHistory::append_once(const std::vector<HistoryRow>& rows) {
  TRY(check_free());
  return transaction([&]() -> Done {
    for (const HistoryRow& row : rows) TRY(put(row));
    return done();
  });
}

Done SqliteHistory::put(const HistoryRow& row) {
  const uint64_t node = TRY(words_.number_of(*database_, row.node));
  for (const auto& [subject, buckets] : row.subjects) {
    TRY(words_.number_of(*database_, subject));
    for (const auto& [metric, bucket] : buckets) TRY(words_.number_of(*database_, metric));
  }
  find_.bind(1, key(row.step)).bind(2, node).bind(3, key(row.at));
  SubjectBuckets merged;
  const bool there = TRY(find_.step());
  if (there) {
    Result<SubjectBuckets> old = unpack_body(find_.bytes(0));
    find_.reset();
    merged = TRY(std::move(old));
    merge(merged, row.subjects);
  }
  const std::string body =
      sqlite_history::pack(there ? merged : row.subjects,
                           [this](const std::string& word) { return *words_.find(word); });
  return put_.bind(1, key(row.step)).bind(2, node).bind(3, key(row.at)).bind(4, body).run();
}

Result<SubjectBuckets> SqliteHistory::unpack_body(std::string_view body) const {
  SubjectBuckets subjects;
  const auto word_of = [this](uint64_t number) { return words_.word_of(number); };
  if (sqlite_history::unpack(body, word_of, subjects)) return subjects;
  return data_loss(database_->path() + ": a row of it makes no sense");
}

Result<std::vector<HistoryRow>> SqliteHistory::read_once(const HistoryQuery& query) {
  std::vector<HistoryRow> rows;
  const std::optional<uint64_t> node = words_.find(query.node);
  if (!query.node.empty() && !node) return rows;
  std::string sql = "SELECT at, node, body FROM spans WHERE step=? AND at>=? AND at<?";
  sql += query.node.empty() ? " ORDER BY at" : " AND node=? ORDER BY at";
  Statement select = TRY(database_->prepare(sql));
  select.bind(1, key(query.step)).bind(2, key(query.since)).bind(3, key(query.until));
  if (!query.node.empty()) select.bind(4, *node);
  while (TRY(select.step())) {
    const std::string* const name = words_.word_of(select.number(1));
    if (name == nullptr) return data_loss(database_->path() + ": a row of it names no node");
    rows.push_back({query.step, {static_cast<int64_t>(select.number(0))}, *name,
                    TRY(unpack_body(select.bytes(2)))});
  }
  std::sort(rows.begin(), rows.end(), [](const HistoryRow& a, const HistoryRow& b) {
    return std::tie(a.at.ns, a.node) < std::tie(b.at.ns, b.node);
  });
  return rows;
}

/// A seek for each node, however many rows it has.
Result<std::set<uint64_t>> SqliteHistory::nodes_of(Duration step) {
  Statement next = TRY(database_->prepare("SELECT min(node) FROM spans WHERE step=? AND node>?"));
  std::set<uint64_t> nodes;
  for (uint64_t last = 0;; last = *nodes.rbegin()) {
    next.bind(1, key(step)).bind(2, last);
    if (!TRY(next.step()) || next.number(0) <= last) return nodes;
    nodes.insert(next.number(0));
    next.reset();
  }
}

Result<std::optional<WallTime>> SqliteHistory::oldest_once(Duration step) {
  Statement first = TRY(database_->prepare("SELECT min(at) FROM spans WHERE step=? AND node=?"));
  std::optional<WallTime> oldest;
  for (const uint64_t node : TRY(nodes_of(step))) {
    if (!TRY(first.bind(1, key(step)).bind(2, node).step())) continue;
    const WallTime at{static_cast<int64_t>(first.number(0))};
    first.reset();
    if (!oldest || at.ns < oldest->ns) oldest = at;
  }
  return oldest;
}

Done SqliteHistory::remove_once(Duration step, WallTime before) {
  return transaction([&]() -> Done {
    Statement old =
        TRY(database_->prepare("DELETE FROM spans WHERE step=? AND node=? AND at<?"));
    for (const uint64_t node : TRY(nodes_of(step))) {
      TRY(old.bind(1, key(step)).bind(2, node).bind(3, key(before)).run());
    }
    return done();
  });
}

Result<Bytes> SqliteHistory::size_once() {
  const uint64_t pages = TRY(database_->pragma_number("page_count"));
  const uint64_t free = TRY(database_->pragma_number("freelist_count"));
  const uint64_t page_size = TRY(database_->pragma_number("page_size"));
  return Bytes{static_cast<int64_t>((pages - free) * page_size)};
}

}  // namespace

Result<std::unique_ptr<History>> open_sqlite_history(const SqliteHistoryOptions& options) {
  auto history = std::make_unique<SqliteHistory>(options);
  TRY(history->open());
  return std::unique_ptr<History>(std::move(history));
}

}  // namespace keiko
