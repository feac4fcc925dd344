#include "train/text/tokenizer.h"

#include <array>
#include <set>

#include "base/fields.h"
#include "base/text.h"

namespace keiko::train {
namespace {
constexpr std::string_view kBytesRecord = "byte";
constexpr std::string_view kCharactersRecord = "char";
constexpr int64_t kByteValues = 256;

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }
}  // namespace

size_t character_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  size_t length = 1;
  if (lead >= 0xc2 && lead < 0xe0) length = 2;
  if (lead >= 0xe0 && lead < 0xf0) length = 3;
  if (lead >= 0xf0 && lead < 0xf5) length = 4;
  if (length > text.size()) return 1;
  for (size_t i = 1; i < length; ++i) {
    if (!continues(text[i])) return 1;
  }
  return length;
}

Tokenizer Tokenizer::bytes() { return {}; }

Tokenizer Tokenizer::characters(std::string_view text) {
  // Plain ASCII is nearly all of most texts: mark it in a table, keep the set for the rest.
  std::array<bool, 128> ascii{};
  std::set<std::string> seen;
  for (size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c < 128) {
      ascii[c] = true;
      ++at;
      continue;
    }
    const size_t length = character_length(text.substr(at));
    seen.emplace(text.substr(at, length));
    at += length;
  }
  for (size_t c = 0; c < ascii.size(); ++c) {
    if (ascii[c]) seen.insert(std::string(1, static_cast<char>(c)));
  }
  Tokenizer tokenizer;
  tokenizer.is_bytes_ = false;
  for (const std::string& character : seen) {
    tokenizer.numbers_.emplace(character, static_cast<int32_t>(tokenizer.characters_.size()));
    tokenizer.characters_.push_back(character);
  }
  return tokenizer;
}

Result<Tokenizer> Tokenizer::from_record(std::string_view record) {
  if (record == kBytesRecord) return bytes();
  if (!record.starts_with(kCharactersRecord)) return data_loss("unknown tokenizer record");
  record.remove_prefix(kCharactersRecord.size());
  Tokenizer tokenizer;
  tokenizer.is_bytes_ = false;
  while (!record.empty()) {
    uint64_t length = 0;
    if (!take_varint(record, length) || length == 0 || length > record.size()) {
      return data_loss("malformed vocabulary");
    }
    std::string character(record.substr(0, length));
    record.remove_prefix(length);
    tokenizer.numbers_.emplace(character, static_cast<int32_t>(tokenizer.characters_.size()));
    tokenizer.characters_.push_back(std::move(character));
  }
  return tokenizer;
}

std::string Tokenizer::record() const {
  if (is_bytes_) return std::string(kBytesRecord);
  std::string out(kCharactersRecord);
  for (const std::string& character : characters_) {
    put_varint(out, character.size());
    out += character;
  }
  return out;
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> tokens;
  tokens.reserve(text.size());
  if (is_bytes_) {
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
  }
  std::array<int32_t, 128> ascii;
  ascii.fill(-1);
  for (const auto& [character, number] : numbers_) {
    const auto c = static_cast<unsigned char>(character[0]);
    if (character.size() == 1 && c < 128) ascii[c] = number;
  }
  for (size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    const size_t length = c < 128 ? 1 : character_length(text.substr(at));
    const std::string_view character = text.substr(at, length);
    const auto found = c < 128 ? numbers_.end() : numbers_.find(character);
    const int32_t number = c < 128 ? ascii[c] : found == numbers_.end() ? -1 : found->second;
    if (number < 0) {
      return invalid_argument("the character " + quote_text(character) + " at byte " +
                              std::to_string(at) + " is not in the vocabulary of " +
                              std::to_string(characters_.size()) + " characters");
    }
    tokens.push_back(number);
    at += length;
  }
  return tokens;
}

std::string Tokenizer::decode(const std::vector<int32_t>& tokens) const {
  std::string text;
  for (const int32_t token : tokens) {
    if (token < 0 || token >= vocabulary_size()) continue;
    if (is_bytes_) text += static_cast<char>(token);
    else text += characters_[static_cast<size_t>(token)];
  }
  return text;
}

int64_t Tokenizer::vocabulary_size() const {
  return is_bytes_ ? kByteValues : static_cast<int64_t>(characters_.size());
}

}  // namespace keiko::train
