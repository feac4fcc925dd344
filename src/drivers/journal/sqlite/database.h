// A thin, typed skin over the SQLite connection of a journal: opening and setting up the file,
// prepared statements, and SQLite's result codes as our errors. For one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include "base/result.h"
#include "drivers/journal/sqlite/options.h"

namespace keiko::sqlite {

/// Stored in the file's header; raise it when the tables change their meaning.
constexpr int64_t kSchemaVersion = 1;

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
  /// Opens <directory>/journal.db, makes it and its tables if they are not there.
  /// RETURNS: kFailedPrecondition for a file of a newer Keiko or of another program,
  /// kPermissionDenied or kNotFound for a directory that cannot be written, kDataLoss for damage.
  static Result<std::unique_ptr<Database>> open(const SqliteJournalOptions& options);

  Result<Statement> prepare(std::string_view sql);
  Done run(const std::string& sql);

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

  Done configure(const SqliteJournalOptions& options);
  Result<uint64_t> pragma_number(std::string_view name);
  Done check_identity();
  Done create_tables();
  Done check_tables();

  std::string path_;
  mutable bool uncertain_ = false;
  std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace keiko::sqlite
