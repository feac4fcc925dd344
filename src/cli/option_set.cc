#include "cli/option_set.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "cli/units.h"

namespace keiko::cli {
namespace {

Result<int64_t> read_integer(const std::string& text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || stopped != end || text.empty()) {
    return invalid_argument(quote_text(text) + " is not a whole number");
  }
  return number;
}

std::vector<std::string> option_words(const std::vector<Option>& options) {
  std::vector<std::string> words = {"--help"};
  for (const Option& option : options) {
    if (option.positional) continue;
    for (const std::string& name : split(option.names, ',')) words.push_back(name);
  }
  return words;
}

Error unexpected_word(const std::string& word, const std::vector<Option>& options) {
  if (word.empty() || word[0] != '-') {
    return invalid_argument("unexpected argument " + quote_text(word));
  }
  const std::string name = word.substr(0, word.find('='));
  const std::string near = name.size() > 2 ? nearest_word(name, option_words(options)) : "";
  return invalid_argument("unknown option '" + name + "'" +
                          (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

/// RETURNS: the value as the verb knows it: of a choice its own spelling.
Result<std::string> accept(const Option& option, const std::string& value) {
  if (option.low != INT64_MIN || option.high != INT64_MAX) {
    const int64_t number = TRY(read_integer(value));
    if (number < option.low || number > option.high) {
      const std::string low = std::to_string(option.low);
      return invalid_argument(value + " is out of range; it must be " + low +
                              (option.high == INT64_MAX ? std::string(" or more")
                                                        : " to " + std::to_string(option.high)));
    }
  }
  if (option.choices.empty()) return value;
  for (const std::string& choice : option.choices) {
    if (same_but_for_case(choice, value)) return choice;
  }
  const std::string near = nearest_word(value, option.choices);
  return invalid_argument(quote_text(value) + " is not one of " + join(option.choices, ", ") +
                          (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

Error lacks_value(const std::string& name, const std::vector<Option>& options) {
  for (const Option& option : options) {
    const std::vector<std::string> names = split(option.names, ',');
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    return invalid_argument(name + " needs a value: " + name + " " + option.value);
  }
  return invalid_argument(name + " needs a value");
}

/// CLI11's own names: "name" for a positional, "-o,--output" else, with "!--no-x" for flags.
std::string library_names(const Option& option) {
  if (option.positional) return option.value;
  if (!option.value.empty()) return option.names;
  const std::string name = option.long_name();
  return name.starts_with("--") ? option.names + ",!--no-" + name.substr(2) : option.names;
}

}  // namespace

Option& Option::between(int64_t smallest, int64_t largest) {
  low = smallest;
  high = largest;
  return *this;
}

std::string Option::long_name() const {
  if (positional) return value;
  return split(names, ',').back();
}

void OptionSet::add(Option option) { options_.push_back(std::move(option)); }

Option& OptionSet::flag(const std::string& names, bool& target, const std::string& help) {
  add({names, "", help, ""});
  options_.back().set = [&target](const std::string& value) {
    target = value == "true";
    return done();
  };
  return options_.back();
}

Option& OptionSet::text(const std::string& names, const std::string& value, std::string& target,
                        const std::string& help) {
  add({names, value, help, ""});
  options_.back().set = [&target](const std::string& given) {
    target = given;
    return done();
  };
  return options_.back();
}

Option& OptionSet::integer(const std::string& names, const std::string& value, int64_t& target,
                           const std::string& help) {
  add({names, value, help, ""});
  options_.back().set = [&target](const std::string& given) -> Done {
    target = TRY(read_integer(given));
    return done();
  };
  return options_.back();
}

Option& OptionSet::bytes(const std::string& names, Bytes& target, const std::string& help) {
  add({names, "SIZE", help, ""});
  options_.back().set = [&target](const std::string& given) -> Done {
    target = TRY(read_bytes(given));
    return done();
  };
  return options_.back();
}

Option& OptionSet::duration(const std::string& names, Duration& target, const std::string& help) {
  add({names, "TIME", help, ""});
  options_.back().set = [&target](const std::string& given) -> Done {
    target = TRY(read_duration(given));
    return done();
  };
  return options_.back();
}

Option& OptionSet::texts(const std::string& names, const std::string& value,
                         std::vector<std::string>& target, const std::string& help) {
  add({names, value, help, ""});
  options_.back().repeated = true;
  options_.back().set = [&target](const std::string& given) {
    target.push_back(given);
    return done();
  };
  return options_.back();
}

Option& OptionSet::positional(const std::string& value, std::string& target,
                              const std::string& help) {
  Option& option = text(value, value, target, help);
  option.positional = true;
  option.required = true;
  return option;
}

Option& OptionSet::positionals(const std::string& value, std::vector<std::string>& target,
                               const std::string& help) {
  Option& option = texts(value, value, target, help);
  option.positional = true;
  option.required = true;
  return option;
}

Done OptionSet::parse(const std::vector<std::string>& words) {
  CLI::App app;
  app.set_help_flag();
  std::vector<CLI::Option*> handles;
  try {
    for (const Option& option : options_) {
      CLI::Option* handle = option.value.empty() ? app.add_flag(library_names(option))
                                                 : app.add_option(library_names(option));
      // Counts are checked below, where the words for it are ours.
      handle->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
      if (!option.value.empty()) handle->type_size(1);
      if (option.positional && option.repeated) {
        handle->expected(CLI::detail::expected_max_vector_size);
      }
      handles.push_back(handle);
    }
    app.allow_extras();
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ArgumentMismatch& error) {
    // "--name: 1 required TEXT missing"
    const std::string mismatch = error.what();
    return lacks_value(mismatch.substr(0, mismatch.find(':')), options_);
  } catch (const CLI::Error& error) {
    return invalid_argument(error.what());
  }
  const std::vector<std::string> extras = app.remaining();
  if (!extras.empty()) return unexpected_word(extras.front(), options_);
  for (size_t i = 0; i < options_.size(); ++i) {
    const Option& option = options_[i];
    const std::vector<std::string>& values = handles[i]->results();
    if (option.required && values.empty()) {
      return invalid_argument(option.long_name() + " is missing: " + option.help);
    }
    if (!option.repeated && !option.value.empty() && values.size() > 1) {
      return invalid_argument(option.long_name() + " is given more than once");
    }
    for (const std::string& value : values) {
      const Result<std::string> accepted = accept(option, value);
      const Done set = accepted.ok() ? option.set(*accepted) : Done(accepted.error());
      if (!set.ok()) return invalid_argument(option.long_name() + ": " + set.error().message);
    }
  }
  return done();
}

}  // namespace keiko::cli
