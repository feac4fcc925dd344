#include "drivers/history/sqlite/words.h"

namespace keiko::sqlite_history {

Done Words::load(sqlite::Database& database) {
  numbers_.clear();
  words_.clear();
  sqlite::Statement all = TRY(database.prepare("SELECT number, word FROM words"));
  while (TRY(all.step())) {
    const std::string word(all.bytes(1));
    numbers_[word] = all.number(0);
    words_[all.number(0)] = word;
  }
  return done();
}

Result<uint64_t> Words::number_of(sqlite::Database& database, const std::string& word) {
  if (const auto known = find(word)) return *known;
  const uint64_t number = words_.empty() ? 1 : words_.rbegin()->first + 1;
  sqlite::Statement insert = TRY(database.prepare("INSERT INTO words VALUES(?, ?)"));
  TRY(insert.bind(1, number).bind(2, word).run());
  numbers_[word] = number;
  words_[number] = word;
  return number;
}

std::optional<uint64_t> Words::find(const std::string& word) const {
  const auto found = numbers_.find(word);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

const std::string* Words::word_of(uint64_t number) const {
  const auto found = words_.find(number);
  return found == words_.end() ? nullptr : &found->second;
}

}  // namespace keiko::sqlite_history
