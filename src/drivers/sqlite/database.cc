#include "drivers/sqlite/database.h"

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace keiko::sqlite {
namespace {

constexpr int64_t kPageSize = 4096;  // the file system's block

Done sync_directory(const std::string& directory) {
  const int file = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return errno_error("open the state directory " + directory, errno);
  const int failed = fsync(file) != 0 ? errno : 0;
  close(file);
  // Some file systems cannot flush a directory; on those there is nothing to gain.
  if (failed != 0 && failed != EINVAL) return errno_error("flush " + directory, failed);
  return done();
}

Error with_remedy(Error error, const char* remedy) {
  error.message += remedy;
  return error;
}

/// Makes the directory if needed and proves that it and what is in it can be written: SQLite alone
/// would find out in the middle, and leave its files there.
Done prepare_directory(const std::string& directory, const std::string& name) {
  constexpr const char* kRemedy = "; choose another directory or change its owner";
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return with_remedy(errno_error("make the state directory " + directory, errno),
                       "; its parent must be there and be yours, or choose another directory");
  }
  struct stat info{};
  if (stat(directory.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) {
    return failed_precondition("the state directory " + directory +
                               " is a file; choose another directory");
  }
  if (access(directory.c_str(), R_OK | W_OK | X_OK) != 0) {
    return with_remedy(errno_error("write to the state directory " + directory, errno), kRemedy);
  }
  const std::string file = directory + "/" + name;
  if (access(file.c_str(), R_OK | W_OK) == 0 || errno == ENOENT) return done();
  return with_remedy(errno_error("write to " + file, errno), kRemedy);
}

bool is_out_of_space(int code, int system_errno) {
  if ((code & 0xff) == SQLITE_FULL || code == SQLITE_IOERR_SHMSIZE) return true;
  return code == SQLITE_IOERR_WRITE &&
         (system_errno == ENOSPC || system_errno == EDQUOT || system_errno == EFBIG);
}

/// RETURNS: the errno of the last failed call on the log or, if there was none, on the database.
/// sqlite3_system_errno() is not set by a failing COMMIT, so the files are asked.
int last_errno(sqlite3* connection) {
  int of_log = 0;
  int of_file = 0;
  sqlite3_file* log = nullptr;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (log != nullptr && log->pMethods != nullptr) {
    log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &of_log);
  }
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_LAST_ERRNO, &of_file);
  return of_log != 0 ? of_log : of_file;
}

int64_t oldest_readable(const DatabaseOptions& options) {
  return options.upgrades.empty() ? options.schema_version : options.upgrades.front().from;
}

bool is_flush_failure(int code) {
  return code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC;
}

}  // namespace

Statement& Statement::bind(int index, uint64_t number) {
  CHECK(sqlite3_bind_int64(statement_.get(), index, static_cast<int64_t>(number)) == SQLITE_OK);
  return *this;
}

Statement& Statement::bind(int index, std::string_view bytes) {
  // A body beyond SQLite's limit is left unbound, and the NOT NULL of its column refuses it; the
  // caller checks sizes first for a better message.
  const char* data = bytes.empty() ? "" : bytes.data();
  sqlite3_bind_blob64(statement_.get(), index, data, bytes.size(), SQLITE_STATIC);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    reset();
    return false;
  }
  Error error = database_->error(code, sqlite3_sql(statement_.get()));
  reset();
  return error;
}

Done Statement::run() {
  if (TRY(step())) reset();
  return done();
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

uint64_t Statement::number(int column) const {
  return static_cast<uint64_t>(sqlite3_column_int64(statement_.get(), column));
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? std::string_view() :
                           std::string_view(static_cast<const char*>(data),
                                            static_cast<size_t>(size));
}

Result<std::unique_ptr<Database>> Database::open(const DatabaseOptions& options) {
  TRY(prepare_directory(options.directory, options.file));
  auto database = std::make_unique<Database>();
  database->options_ = options;
  database->path_ = options.directory + "/" + options.file;
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(
      database->path_.c_str(), &connection,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      nullptr);
  database->connection_.reset(connection);
  if (code != SQLITE_OK) return database->error(code, "open");
  TRY(database->configure());
  TRY(sync_directory(options.directory));
  return database;
}

Done Database::configure() {
  sqlite3* connection = connection_.get();
  sqlite3_busy_timeout(connection, static_cast<int>(options_.busy_timeout.millis()));
  // The file may be anybody's bytes: its schema gets no power.
  for (const auto& [option, on] : {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                  std::pair{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                  std::pair{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                  std::pair{SQLITE_DBCONFIG_ENABLE_VIEW, 0}}) {
    sqlite3_db_config(connection, option, on, nullptr);
  }
  TRY(check_identity());
  TRY(run("PRAGMA page_size=" + std::to_string(kPageSize)));
  {
    Statement mode = TRY(prepare("PRAGMA journal_mode=WAL"));
    if (!TRY(mode.step()) || mode.bytes(0) != "wal") {
      return failed_precondition(path_ + " cannot have a write-ahead log; the state directory "
                                 "must be on a local file system");
    }
  }
  TRY(run(options_.flush_commits ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL"));
  TRY(run("PRAGMA cell_size_check=ON"));
  TRY(run("PRAGMA secure_delete=OFF"));
  TRY(run("PRAGMA wal_autocheckpoint=" + std::to_string(options_.checkpoint_pages)));
  // The log keeps its length between checkpoints: overwriting needs no new blocks, so its flush is
  // cheaper than a growing file's. A large snapshot's log is cut back.
  TRY(run("PRAGMA journal_size_limit=" +
          std::to_string(options_.checkpoint_pages * 2 * kPageSize)));
  if (options_.max_size.count > 0) {
    TRY(run("PRAGMA max_page_count=" + std::to_string(options_.max_size.count / kPageSize)));
  }
  if (TRY(pragma_number("application_id")) == 0) TRY(create_tables());
  TRY(upgrade());
  return check_tables();
}

Result<uint64_t> Database::pragma_number(std::string_view name) {
  Statement statement = TRY(prepare("PRAGMA " + std::string(name)));
  if (!TRY(statement.step())) {
    return data_loss(path_ + ": PRAGMA " + std::string(name) + " is void");
  }
  return statement.number(0);
}

Done Database::check_identity() {
  const uint64_t application = TRY(pragma_number("application_id"));
  const int64_t version = static_cast<int64_t>(TRY(pragma_number("user_version")));
  if (application == options_.application_id && version > options_.schema_version) {
    return failed_precondition(path_ + " was written by a newer Keiko: its format is " +
                               std::to_string(version) + ", this program knows up to " +
                               std::to_string(options_.schema_version) +
                               "; run the newer program, or use another state directory");
  }
  if (application == options_.application_id && version >= oldest_readable(options_)) return done();
  if (application == options_.application_id && version > 0) {
    return failed_precondition(path_ + " was written by an older Keiko: its format is " +
                               std::to_string(version) + ", this program knows it from " +
                               std::to_string(oldest_readable(options_)) +
                               " on; run the older program, or use another state directory");
  }
  Statement any = TRY(prepare("SELECT 1 FROM sqlite_schema LIMIT 1"));
  if (application == 0 && version == 0 && !TRY(any.step())) return done();
  return failed_precondition(path_ + " is not " + options_.content +
                             "; use another state directory");
}

Done Database::transaction(const std::function<Done()>& work) {
  TRY(run("BEGIN IMMEDIATE"));
  Done worked = work();
  if (worked.ok()) worked = run("COMMIT");
  if (!worked.ok()) roll_back();
  return worked;
}

Done Database::upgrade() {
  for (const Upgrade& one : options_.upgrades) {
    const auto lift = [&]() -> Done {
      if (static_cast<int64_t>(TRY(pragma_number("user_version"))) != one.from) return done();
      for (const std::string_view sql : one.steps) TRY(run(std::string(sql)));
      return run("PRAGMA user_version=" + std::to_string(one.from + 1));
    };
    TRY(transaction(lift));
  }
  return done();
}

Done Database::create_tables() {
  const auto fill = [this]() -> Done {
    // Another process may have been faster.
    if (TRY(pragma_number("application_id")) != 0) return done();
    for (const Table& table : options_.tables) TRY(run(std::string(table.sql)));
    if (!options_.first_rows.empty()) TRY(run(options_.first_rows));
    TRY(run("PRAGMA application_id=" + std::to_string(options_.application_id)));
    return run("PRAGMA user_version=" + std::to_string(options_.schema_version));
  };
  TRY(transaction(fill));
  // The tables move into the database at once: whatever happens to the log, they are known.
  return run("PRAGMA wal_checkpoint(PASSIVE)");
}

Done Database::check_tables() {
  Statement schema = TRY(prepare("SELECT sql FROM sqlite_schema ORDER BY rowid"));
  for (const Table& table : options_.tables) {
    if (!TRY(schema.step()) || schema.bytes(0) != table.sql) {
      return data_loss(path_ + ": table " + std::string(table.name) +
                       " is missing or changed; " + options_.remedy);
    }
  }
  if (!TRY(schema.step())) return done();
  return data_loss(path_ + " has a table that Keiko did not make; " + options_.remedy);
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  Statement statement;
  statement.statement_.reset(raw);
  statement.database_ = this;
  if (code != SQLITE_OK) return error(code, sql);
  return statement;
}

Done Database::run(const std::string& sql) {
  const int code = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code, sql);
  return done();
}

void Database::roll_back() {
  if (sqlite3_get_autocommit(connection_.get()) == 0) {
    sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

Error Database::error(int code, std::string_view doing) const {
  const int system_errno = connection_ ? last_errno(connection_.get()) : 0;
  std::string what = path_ + ": " + std::string(doing) + ": " + sqlite3_errstr(code);
  if ((code & 0xff) == SQLITE_IOERR && system_errno != 0) {
    what += std::string(" (") + std::strerror(system_errno) + ")";
  }
  if (is_out_of_space(code, system_errno)) {
    return resource_exhausted(what + "; nothing was written, make room and it goes on");
  }
  if (is_flush_failure(code)) {
    uncertain_ = true;
    return unavailable(what + "; the disk did not confirm a write, check it and start again");
  }
  switch (code & 0xff) {
    case SQLITE_BUSY:
      return deadline_exceeded(what + "; another process keeps writing, nothing was written");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_IOERR:
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
      return data_loss(what + "; the file is damaged, " + options_.remedy);
    case SQLITE_NOMEM: return resource_exhausted(what);
    case SQLITE_TOOBIG: return invalid_argument(what);
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return {Code::kPermissionDenied, what + "; Keiko must be able to write there", {}};
    default: return internal_error(what);
  }
}

}  // namespace keiko::sqlite
