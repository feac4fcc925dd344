// The options of one verb: declared once as data, from which parsing, help, completion and
// docs/cli.md follow. CLI11 does the parsing behind this wall (option_set.cc).
//
// An option's `set` is called once for each value that was given, in order. Options bind to
// variables that the verb owns; they must live until parse() returns.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"

namespace keiko::cli {

/// What the shell offers to complete a value with.
enum class Completes { kNothing, kFile, kDirectory, kJob, kNode, kChoices };

struct Option {
  std::string names;       ///< "-o,--output"; for a positional its value's name, "ID"
  std::string value;       ///< "FORMAT"; empty for a flag that takes none
  std::string help;
  std::string group;       ///< heading in the help; empty: "Options"
  bool positional = false;
  bool required = false;
  bool repeated = false;   ///< may be given several times, or a positional of several words
  Completes completes = Completes::kNothing;
  std::vector<std::string> choices = {};   ///< the only values, if not empty; in any case
  int64_t low = INT64_MIN;                 ///< of a whole number
  int64_t high = INT64_MAX;
  std::function<Done(const std::string& value)> set;  ///< flags get "true" or "false"

  /// A whole number from `smallest` to `largest`, both included.
  Option& between(int64_t smallest, int64_t largest);

  std::string long_name() const;  ///< "--output", "ID" for a positional
};

class OptionSet {
 public:
  void add(Option option);

  /// The usual kinds. RETURNS: the option, so that its details can be set on.
  Option& flag(const std::string& names, bool& target, const std::string& help);
  Option& text(const std::string& names, const std::string& value, std::string& target,
               const std::string& help);
  Option& integer(const std::string& names, const std::string& value, int64_t& target,
                  const std::string& help);
  /// With its unit: "4GiB".
  Option& bytes(const std::string& names, Bytes& target, const std::string& help);
  /// With its unit: "1h30m".
  Option& duration(const std::string& names, Duration& target, const std::string& help);
  Option& texts(const std::string& names, const std::string& value,
                std::vector<std::string>& target, const std::string& help);
  /// Positionals are taken in the order they were added.
  Option& positional(const std::string& value, std::string& target, const std::string& help);
  Option& positionals(const std::string& value, std::vector<std::string>& target,
                      const std::string& help);

  const std::vector<Option>& options() const { return options_; }

  /// Reads the words behind the verb. RETURNS: kInvalidArgument that names the word, with the
  /// nearest option for an unknown one. "-h" and "--help" are the caller's.
  Done parse(const std::vector<std::string>& words);

 private:
  std::vector<Option> options_;
};

}  // namespace keiko::cli
