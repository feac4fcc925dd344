#include "cli/units.h"

#include <string>

namespace keiko::cli {
namespace {

Done needs_unit(std::string_view text, std::string_view examples) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos ||
      text.find_first_not_of("0.") == std::string_view::npos) {
    return done();
  }
  return invalid_argument(std::string(text) + " has no unit; write " + std::string(examples));
}

}  // namespace

Result<Bytes> read_bytes(std::string_view text) {
  const std::string number(text);
  TRY(needs_unit(text, number + "GiB or " + number + "MiB"));
  return parse_bytes(text);
}

Result<Duration> read_duration(std::string_view text) {
  const std::string number(text);
  TRY(needs_unit(text, number + "s, " + number + "m or " + number + "h"));
  return parse_duration(text);
}

}  // namespace keiko::cli
