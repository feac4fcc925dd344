// A thin, typed skin over one SQLite file and its connection: opening and setting up the file,
// prepared statements, and SQLite's result codes as our errors. For one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"

namespace keiko::sqlite {

struct Table {
  std::string_view name;
  std::string_view sql;   ///< "CREATE TABLE ...", kept by the file letter by letter
};

/// How a file of an older format becomes one of the next.
struct Upgrade {
  int64_t from = 0;  ///< schema_version of such files; they become from + 1
  /// SQL, in one transaction; leaves the tables of the next format in their order.
  std::span<const std::string_view> steps;
};

/// What a file is, and how it is written.
struct DatabaseOptions {
  std::string directory;       ///< made with mode 0700 if it is not there (its parents must be)
  std::string file;            ///< "journal.db"
  std::string content;         ///< "a journal of Keiko", for messages
  std::string remedy;          ///< what to do about damage: "restore ... from a backup"
  uint64_t application_id = 0; ///< shown by file(1)
  int64_t schema_version = 1;  ///< in the file's header; raised when tables change their meaning
  std::span<const Table> tables;  ///< all there are, in the order of their making; indexes, too
  std::span<const Upgrade> upgrades;  ///< oldest first; a file that none leads from is refused
  std::string first_rows;      ///< SQL that runs when the tables are made; may be empty
  /// Each commit is flushed. Without it the newest ones may be gone after a crash of the machine.
  bool flush_commits = true;
  int checkpoint_pages = 1000; ///< pages of 4 KiB that the write-ahead log collects
  Duration busy_timeout = seconds(5);  ///< how long a write waits for another process's
  /// Of the file; 0 is no bound. For hosts with a quota, and for tests.
  Bytes max_size;
};

/// A prepared statement, reset by whoever runs it next.
class Statement {
 public:
  Statement() = default;

  Statement& bind(int index, uint64_t number);
  /// The bytes must live until the statement ran.
  Statement& bind(int index, std::string_view bytes);

  /// RETURNS: true if there is a row, false at the end.
  Result<bool> step();
  /// Runs a statement that has no rows.
  Done run();
  /// Ends the statement, so that it holds no lock and borrows no bytes.
  void reset();

  uint64_t number(int column) const;
  std::string_view bytes(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  class Database* database_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  /// Opens <directory>/<file>, makes it and its tables if they are not there.
  /// RETURNS: kFailedPrecondition for a file of a newer or far older Keiko or of another program,
  /// kPermissionDenied or kNotFound for a directory that cannot be written, kDataLoss for damage.
  static Result<std::unique_ptr<Database>> open(const DatabaseOptions& options);

  Result<Statement> prepare(std::string_view sql);
  Result<uint64_t> pragma_number(std::string_view name);
  Done run(const std::string& sql);

  /// Runs `work` and commits, or rolls back what it failed at.
  Done transaction(const std::function<Done()>& work);

  /// Ends a transaction that did not commit. After it, nothing of the transaction is left.
  void roll_back();

  /// RETURNS: the error for `code`, naming the file and what to do.
  Error error(int code, std::string_view doing) const;

  /// True once a flush to disk failed: what the kernel still holds is then unknown.
  bool uncertain() const { return uncertain_; }
  void mark_uncertain() { uncertain_ = true; }

  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
  };

  Done configure();
  Done check_identity();
  Done create_tables();
  Done upgrade();
  Done check_tables();

  DatabaseOptions options_;
  std::string path_;
  mutable bool uncertain_ = false;
  std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace keiko::sqlite
