#include "verb_journal.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "core/state/journal_dump.h"
#include "drivers/journal/sqlite/sqlite_journal.h"
#include "server/recovery.h"

namespace keiko::apps {
namespace {

constexpr size_t kPage = 4096;

struct Given {
  std::string action;
  std::string file;
  std::string state;
};

/// Reading needs neither the lock nor a term, so a server may run meanwhile.
Result<std::unique_ptr<Journal>> open_existing(const std::string& directory) {
  // Opening makes what is not there; a typing error must not leave an empty journal behind.
  const std::filesystem::path file = std::filesystem::path(directory) / "journal.db";
  std::error_code failed;
  if (!std::filesystem::exists(file, failed)) {
    return not_found(file.string() + ": no journal there; give the server's folder with --state");
  }
  SqliteJournalOptions options;
  options.directory = directory;
  return open_sqlite_journal(options);
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Done write_all(std::FILE* out, const std::string& bytes, const std::string& path) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size()) return done();
  return resource_exhausted(path + ": cannot write; is the disk full?");
}

/// Writes beside the target first: a dump that is there is whole.
Result<uint64_t> dump_to(Journal& journal, const std::string& path) {
  const std::string part = path + ".part";
  const std::unique_ptr<std::FILE, FileCloser> out(std::fopen(part.c_str(), "wb"));
  if (!out) return errno_error("cannot create " + part, errno);
  const auto write = [&]() -> Result<uint64_t> {
    const std::optional<JournalSnapshot> snapshot = TRY(journal.latest_snapshot());
    uint64_t sequence = snapshot ? snapshot->sequence : 0;
    TRY(write_all(out.get(), encode_dump_head(sequence, snapshot ? snapshot->bytes : ""), part));
    while (true) {
      const std::vector<JournalRecord> page = TRY(journal.read(sequence + 1, kPage));
      if (page.empty()) return sequence;
      for (const JournalRecord& record : page) {
        TRY(write_all(out.get(), encode_dump_record(record.term.number, record.bytes), part));
        sequence = record.sequence;
      }
    }
  };
  Result<uint64_t> last = write();
  const bool flushed = std::fflush(out.get()) == 0 && fsync(fileno(out.get())) == 0;
  if (last.ok() && !flushed) last = errno_error("cannot write " + part, errno);
  if (last.ok() && std::rename(part.c_str(), path.c_str()) != 0) {
    last = errno_error("cannot rename to " + path, errno);
  }
  if (!last.ok()) std::remove(part.c_str());
  return last;
}

Result<int> dump(Journal& journal, const std::string& file) {
  if (file.empty()) {
    return invalid_argument("dump needs the FILE to write: keiko journal dump FILE");
  }
  Result<uint64_t> last = dump_to(journal, file);
  // A server that runs may have replaced the records between two reads by a snapshot.
  for (int again = 0; again < 3 && !last.ok() && last.error().code == Code::kOutOfRange; ++again) {
    last = dump_to(journal, file);
  }
  if (!last.ok()) return last.error();
  std::printf("%s: up to record %llu; look at it with: keiko sim replay %s\n", file.c_str(),
              static_cast<unsigned long long>(*last), file.c_str());
  return 0;
}

Result<int> check(Journal& journal) {
  const server::Replayed replayed = TRY(server::replay(journal));
  std::printf("journal sound: %llu records (%llu since the snapshot), %zu nodes, %zu jobs, "
              "digest %s\n",
              static_cast<unsigned long long>(replayed.last_sequence),
              static_cast<unsigned long long>(replayed.records_since_snapshot),
              replayed.state.nodes.size(), replayed.state.jobs.size(),
              to_text(digest_of(replayed.state)).c_str());
  return 0;
}

cli::VerbRun add_options(cli::OptionSet& options) {
  auto given = std::make_shared<Given>();
  cli::Option& action = options.positional("ACTION", given->action, "dump or check");
  action.required = true;
  action.choices = {"dump", "check"};
  action.completes = cli::Completes::kChoices;
  cli::Option& file = options.positional("FILE", given->file, "of dump: the file to write");
  file.required = false;
  file.completes = cli::Completes::kFile;
  options.text("--state", "DIR", given->state,
               "the server's folder ($KEIKO_STATE, else ~/.local/share/keiko)")
      .completes = cli::Completes::kDirectory;
  return [given](cli::Invocation& call) -> Result<int> {
    const std::string directory = cli::state_directory(given->state, call.variable);
    const std::unique_ptr<Journal> journal = TRY(open_existing(directory));
    return given->action == "dump" ? dump(*journal, given->file) : check(*journal);
  };
}

}  // namespace

cli::Verb journal_verb() {
  cli::Verb verb;
  verb.name = "journal";
  verb.group = "Other";
  verb.summary = "Dump the server's journal into one file, or check that it replays";
  verb.about = "The server may run meanwhile. A dump is a bug report: keiko sim replay "
                     "FILE brings the same state up anywhere.";
  verb.examples = {"keiko journal check", "keiko journal dump monday.dump",
                   "keiko sim replay monday.dump"};
  verb.asks_server = false;
  verb.add_options = &add_options;
  return verb;
}

}  // namespace keiko::apps
