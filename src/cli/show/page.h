// One thing in all forms of -o: a page for a person by default, a row with -o wide, or its message.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/show/output.h"

namespace google::protobuf {
class Message;
}

namespace keiko::cli {

struct Page {
  std::string name;    ///< for -o name
  std::string text;    ///< for -o table
  Table table;         ///< for -o wide
  std::shared_ptr<const google::protobuf::Message> message;
};

/// Prints what `ask` gives once, or with -w whenever it changed.
Result<int> show_page(const OutputChoice& choice, const Console& console,
                      const std::function<Result<Page>()>& ask);

}  // namespace keiko::cli
