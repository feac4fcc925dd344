// Text from a trained model, one token after another.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "train/model/gpt.h"
#include "train/text/tokenizer.h"

namespace keiko::train {

struct GenerateOptions {
  int64_t tokens = 200;       ///< how many are drawn after the prompt
  std::string prompt = "\n";  ///< what the text begins with; one character at least
  double temperature = 0.8;  ///< 0 takes the likeliest token each time
  uint64_t seed = 1337;      ///< the same seed gives the same text
};

/// RETURNS: the prompt and what the model goes on with, or kInvalidArgument when the prompt is
/// empty or has characters that the vocabulary lacks.
Result<std::string> generate_text(const Gpt& model, const Tokenizer& tokenizer,
                                  const GenerateOptions& options);

}  // namespace keiko::train
