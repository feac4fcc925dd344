// Tokenizer: text to numbers and back. `byte` needs no vocabulary; `char` gives each Unicode
// character of the training text a number, in code point order; a checkpoint carries them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace keiko::train {

class Tokenizer {
 public:
  /// Every byte is a token.
  static Tokenizer bytes();

  /// One token per character that occurs in `text`; bytes that are not UTF-8 count as characters.
  static Tokenizer characters(std::string_view text);

  /// Reads what record() wrote. RETURNS: kDataLoss for anything else.
  static Result<Tokenizer> from_record(std::string_view record);
  std::string record() const;

  /// RETURNS: kInvalidArgument naming the first character that the vocabulary lacks.
  Result<std::vector<int32_t>> encode(std::string_view text) const;
  /// Numbers outside the vocabulary become nothing.
  std::string decode(const std::vector<int32_t>& tokens) const;

  int64_t vocabulary_size() const;

 private:
  bool is_bytes_ = true;
  std::vector<std::string> characters_;
  std::map<std::string, int32_t, std::less<>> numbers_;
};

/// RETURNS: the bytes of the character that `text` begins with: a whole UTF-8 sequence, or 1.
/// REQUIRES: !text.empty().
size_t character_length(std::string_view text);

}  // namespace keiko::train
