// The flags of keiko-train: one table row per option, from which parsing, --help and the text that
// ranks compare are made. Pure.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "train/options.h"

namespace keiko::train {

struct FlagRow {
  const char* group;
  const char* name;    ///< without the dashes
  const char* value;   ///< what stands for the value in --help; empty for a switch
  std::variant<int64_t TrainOptions::*, double TrainOptions::*, std::string TrainOptions::*,
               bool TrainOptions::*>
      field;
  double least = 0;    ///< for numbers
  double most = 0;
  const char* help;
};

std::span<const FlagRow> flag_rows();

enum class Verb : int { kGpt, kSample, kHelp, kVersion };

struct CommandLine {
  Verb verb = Verb::kHelp;
  TrainOptions options;
  std::string checkpoint;     ///< of `sample`: a file, or a folder whose newest is meant
  int64_t tokens = 200;       ///< of `sample`
};

/// Reads "gpt --data FILE ..." or "sample --checkpoint DIR ...", "--flag value" or "--flag=value".
/// RETURNS: kInvalidArgument with the nearest valid word, or the range a number must be in.
Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments);

/// RETURNS: "--data=... --layers=4 ..." in table order.
std::string flags_text(const TrainOptions& options);

/// RETURNS: the text of --help.
std::string help_text();

}  // namespace keiko::train
