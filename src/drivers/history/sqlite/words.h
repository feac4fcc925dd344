// The names of a history file by their numbers, and back. All are held in memory: names of nodes,
// devices and metrics are few beside the numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "drivers/sqlite/database.h"

namespace keiko::sqlite_history {

class Words {
 public:
  /// Reads what the file has. Also after a transaction that was rolled back, since it may have
  /// added some.
  Done load(sqlite::Database& database);

  /// RETURNS: the number of `word`, which the file gets if it has none. REQUIRES: a transaction.
  Result<uint64_t> number_of(sqlite::Database& database, const std::string& word);

  std::optional<uint64_t> find(const std::string& word) const;
  /// RETURNS: null for a number that nothing stands for.
  const std::string* word_of(uint64_t number) const;

 private:
  std::map<std::string, uint64_t> numbers_;
  std::map<uint64_t, std::string> words_;
};

}  // namespace keiko::sqlite_history
