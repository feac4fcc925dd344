// -o table|wide|json|yaml|name, -w and --no-headers, the same for every verb that lists or gets.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "cli/console.h"
#include "cli/option_set.h"
#include "cli/show/table.h"

namespace google::protobuf {
class Message;
}

namespace keiko::cli {

struct OutputChoice {
  std::string format = "table";
  bool watch = false;
  bool no_headers = false;

  TableStyle style() const { return {format == "wide", !no_headers, nullptr}; }
  bool is_table() const { return format == "table" || format == "wide"; }
};

/// Adds -o, -w and --no-headers.
void add_output_options(OptionSet& options, OutputChoice& choice);

/// RETURNS: a message as JSON, or as YAML if the format is "yaml", with a newline at the end.
std::string message_text(const google::protobuf::Message& message, const OutputChoice& choice);

/// RETURNS: JSON text as YAML with the same order of keys.
std::string json_to_yaml(const std::string& json);

/// One answer of the server, in all forms.
struct Listing {
  Table table;          ///< its first column is what -o name prints, and what tells rows apart
  const google::protobuf::Message* message = nullptr;  ///< what json and yaml print
  std::shared_ptr<const google::protobuf::Message> owner = {};
  std::string note;     ///< for a person, after a table; empty: none
};

/// Prints what `ask` gives, once, or with -w again and again until Ctrl-C: a terminal is redrawn
/// when something changed; elsewhere new and changed rows are appended, and json or yaml is printed
/// anew.
Result<int> show_listing(const OutputChoice& choice, const Console& console,
                         const std::function<Result<Listing>()>& ask);

}  // namespace keiko::cli
