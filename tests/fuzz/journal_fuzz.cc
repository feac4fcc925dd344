// sources: src/base/*.cc src/drivers/journal/sqlite/*.cc
// flags: -lsqlite3
//
// The journal's reader against any bytes. The first byte of the input chooses what the rest is:
// the body of a batch; the database file; its log; or edits of a sound journal's two files, which
// come deeper because the checksums and the page structure around them hold. Whatever it is, the
// answer is records or an error, never a crash, and after edits never other bytes than appended.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/check.h"
#include "drivers/journal/sqlite/batch.h"
#include "drivers/journal/sqlite/sqlite_journal.h"

namespace keiko {
namespace {

namespace fs = std::filesystem;

std::string record_text(uint64_t sequence) {
  return std::to_string(sequence) + std::string(sequence * 97 % 900, 'r');
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(),
                                              static_cast<std::streamsize>(bytes.size()));
}

/// Where the files lie. run.sh gives a folder in memory, since they are written at every run, and
/// removes it: a fuzzer ends without its destructors.
struct Workspace {
  std::string directory;
  std::string sound_database, sound_log;

  Workspace() {
    const char* root = std::getenv("TMPDIR");
    std::string path = std::string(root != nullptr ? root : "/tmp") + "/keiko_fuzz_XXXXXX";
    CHECK(mkdtemp(path.data()) != nullptr);
    directory = path;
    auto journal = MUST(open_sqlite_journal({.directory = directory}));
    MUST(journal->acquire());
    append_some(*journal, 1, 40);
    MUST(journal->snapshot(10, "snapshot"));
    MUST(journal->acquire());  // moves what is there into the database
    append_some(*journal, 41, 60);
    sound_database = read_file(directory + "/journal.db");
    sound_log = read_file(directory + "/journal.db-wal");
    CHECK(!sound_log.empty());
  }

  static void append_some(Journal& journal, uint64_t next, uint64_t last) {
    while (next <= last) {
      std::vector<std::string> records;
      for (uint64_t i = 0; i <= next % 3 && next <= last; ++i) {
        records.push_back(record_text(next++));
      }
      MUST(journal.append(records));
    }
  }

  void put(std::string_view database, std::string_view log) const {
    fs::remove(directory + "/journal.db-shm");
    fs::remove(directory + "/journal.db-journal");
    write_file(directory + "/journal.db", database);
    if (log.empty()) fs::remove(directory + "/journal.db-wal");
    else write_file(directory + "/journal.db-wal", log);
  }
};

/// Opens and reads all there is. `sound`: the bytes come from a sound journal, so each record that
/// is handed out must be the one that was appended.
void read_all(const std::string& directory, bool sound) {
  auto journal = open_sqlite_journal({.directory = directory, .busy_timeout = Duration{}});
  if (!journal.ok()) return;
  const auto snapshot = (*journal)->latest_snapshot();
  uint64_t next = 1;
  if (snapshot.ok() && snapshot->has_value()) {
    if (sound) CHECK((*snapshot)->bytes == "snapshot" && (*snapshot)->sequence == 10);
    next = (*snapshot)->sequence + 1;
    if (next == 0) return;
  }
  for (int pages = 0; pages < 100; ++pages) {
    const auto records = (*journal)->read(next, 50);
    if (!records.ok() || records->empty()) break;
    for (const JournalRecord& record : *records) {
      CHECK(record.sequence == next);
      if (sound) CHECK(record.bytes == record_text(next));
      ++next;
    }
  }
  if (!(*journal)->acquire().ok()) return;
  const std::vector<std::string> more = {"more"};
  (void)(*journal)->append(more);
}

/// Applies edits of 4 bytes: three of place and kind (cut there, or set a byte), one of value.
void edit(std::string& bytes, std::string_view edits) {
  for (; edits.size() >= 4 && !bytes.empty(); edits.remove_prefix(4)) {
    const auto at = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(edits[i])); };
    const size_t offset = (at(0) << 12 | at(1) << 4 | (at(2) & 15)) % bytes.size();
    if (at(2) >= 250) bytes.resize(offset);
    else bytes[offset] = edits[3];
  }
}

void decode_body(std::string_view input) {
  if (input.size() < 2) return;
  const auto count = static_cast<uint64_t>(static_cast<uint8_t>(input[0]));
  const Term term{static_cast<uint8_t>(input[1])};
  const auto records = sqlite::decode_batch(1, count, term, input.substr(2));
  if (!records.ok()) return;
  CHECK(records->size() == count);
  std::vector<std::string> again;
  for (const JournalRecord& record : *records) again.push_back(record.bytes);
  const auto twice = sqlite::decode_batch(1, count, term, sqlite::encode_batch(1, term, again));
  CHECK(twice.ok() && *twice == *records);
}

}  // namespace
}  // namespace keiko

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace keiko;
  static const Workspace workspace;
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  std::string database = workspace.sound_database;
  std::string log = workspace.sound_log;
  bool sound = false;
  switch (bytes[0] % 6) {
    case 0: decode_body(input); return 0;
    case 1: database = input; log.clear(); break;
    case 2: log = input; break;
    case 3: edit(database, input); sound = true; break;
    case 4: edit(log, input); sound = true; break;
    default: edit(database, input); log.clear(); sound = true; break;
  }
  workspace.put(database, log);
  read_all(workspace.directory, sound);
  return 0;
}
