// Corpus: one text as tokens, its last tenth held out for validation.
//
// Which samples a step sees is a pure function of (seed, step, index in the global batch), so the
// data does not depend on how many ranks share the batch, and a resumed run needs no saved cursor.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "train/text/tokenizer.h"

namespace keiko::train {

enum class TokenizerKind : int { kByte, kChar };

/// RETURNS: the file's bytes, or an error that names the file and the cause.
Result<std::string> read_text(const std::string& path);

/// RETURNS: a number in [0, span) that depends on nothing else. REQUIRES: span > 0.
int64_t sample_offset(uint64_t seed, int64_t step, int64_t index, int64_t span);

class Corpus {
 public:
  /// Tokenizes `text`. RETURNS: kInvalidArgument if either part is not longer than `context`.
  static Result<Corpus> from_text(std::string_view text, TokenizerKind kind, int64_t context);

  const Tokenizer& tokenizer() const { return tokenizer_; }
  /// The digest of the text, which a checkpoint of it must match.
  Digest digest() const { return digest_; }

  std::span<const int32_t> train() const { return std::span(tokens_).first(split_); }
  std::span<const int32_t> held_out() const { return std::span(tokens_).subspan(split_); }

 private:
  explicit Corpus(Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

  Tokenizer tokenizer_;
  Digest digest_;
  std::vector<int32_t> tokens_;
  size_t split_ = 0;
};

}  // namespace keiko::train
