// What the tests of this driver share: a state directory of their own and the conformance harness.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/journal/sqlite/sqlite_journal.h"

namespace keiko {

/// A fresh directory that goes away with the test.
class ScratchFolder {
 public:
  ScratchFolder() {
    const char* root = std::getenv("TMPDIR");
    path_ = std::string(root != nullptr ? root : "/tmp") + "/keiko_journal_XXXXXX";
    CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A forked process that runs `work` and exits with what it returns; killed with the test.
class ChildProcess {
 public:
  /// `work` gets the writing end of a pipe whose reading end is reports().
  template <class Work>
  explicit ChildProcess(Work work) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_ = fork();
    CHECK(pid_ >= 0);
    if (pid_ == 0) {
      close(ends[0]);
      _exit(work(ends[1]));
    }
    close(ends[1]);
    reports_ = ends[0];
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() {
    if (pid_ > 0) kill_and_wait();
    close(reports_);
  }

  pid_t pid() const { return pid_; }
  int reports() const { return reports_; }
  void send(int signal) { kill(pid_, signal); }
  void kill_and_wait() {
    kill(pid_, SIGKILL);
    wait();
  }
  /// RETURNS: the exit code, or -1 if a signal ended it.
  int wait() {
    int status = 0;
    CHECK(waitpid(pid_, &status, 0) == pid_);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  /// Reads one number the child reported. RETURNS: false once the child is gone.
  bool next_report(uint64_t& number) { return read(reports_, &number, 8) == 8; }

 private:
  pid_t pid_ = 0;
  int reports_ = -1;
};

inline void report(int pipe_end, uint64_t number) {
  if (write(pipe_end, &number, 8) != 8) _exit(3);
}

/// Runs one SQL statement on a journal's file behind the driver's back.
inline void run_sql(const std::string& directory, const std::string& sql) {
  sqlite3* connection = nullptr;
  CHECK(sqlite3_open((directory + "/journal.db").c_str(), &connection) == SQLITE_OK);
  char* message = nullptr;
  const int code = sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, &message);
  EXPECT_EQ(code, SQLITE_OK) << (message != nullptr ? message : "");
  sqlite3_free(message);
  sqlite3_close(connection);
}

class SqliteJournalHarness {
 public:
  SqliteJournalHarness() { std::signal(SIGXFSZ, SIG_IGN); }
  ~SqliteJournalHarness() { free_disk(); }

  std::unique_ptr<Journal> open() { return open_with({.directory = folder_.path()}); }
  std::unique_ptr<Journal> open_rival() {
    return open_with({.directory = folder_.path(), .take_over = true});
  }

  /// A copy of the files as they are now is what a crash leaves; the open journal stays behind.
  void crash() {
    crashed_ = std::make_unique<ScratchFolder>();
    std::filesystem::copy(folder_.path(), crashed_->path(),
                          std::filesystem::copy_options::recursive);
    after_crash_ = true;
  }

  /// No file may grow beyond 64 KiB more than the log has: what a quota does, without root.
  void fill_disk() {
    const auto used = std::filesystem::file_size(folder_.path() + "/journal.db-wal");
    limit_files(used + (64 << 10));
  }
  void free_disk() { limit_files(RLIM_INFINITY); }

  void damage(uint64_t sequence) {
    run_sql(folder_.path(), "UPDATE batches SET body=zeroblob(length(body)) WHERE first=" +
                                std::to_string(sequence));
  }

 private:
  std::unique_ptr<Journal> open_with(SqliteJournalOptions options) {
    if (after_crash_) options.directory = crashed_->path();
    return MUST(open_sqlite_journal(options));
  }

  static void limit_files(rlim_t size) {
    rlimit limit{};
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = std::min(size, limit.rlim_max);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }

  ScratchFolder folder_;
  std::unique_ptr<ScratchFolder> crashed_;
  bool after_crash_ = false;
};

}  // namespace keiko
