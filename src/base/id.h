// Ids: a number and a prefix that says of what. JobId 7 prints as "j7", so that an id in a log line
// cannot be mistaken for another kind of id, and a NodeId does not convert to a JobId.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace keiko {

/// A positive number handed out by a counter in the state; 0 means "none".
template <char kPrefix>
struct Id {
  uint64_t number = 0;

  explicit operator bool() const { return number != 0; }
  friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

using JobId = Id<'j'>;
using NodeId = Id<'n'>;

template <char kPrefix>
std::string to_text(Id<kPrefix> id) {
  return kPrefix + std::to_string(id.number);
}

/// Reads digits, 19 at most. RETURNS: false for anything else.
bool parse_digits(std::string_view text, uint64_t& number);

/// Reads "j7" or "7". RETURNS: kInvalidArgument for anything else, zero included.
template <char kPrefix>
Result<Id<kPrefix>> parse_id(std::string_view text) {
  std::string_view digits = text;
  if (!digits.empty() && digits[0] == kPrefix) digits.remove_prefix(1);
  Id<kPrefix> id;
  if (parse_digits(digits, id.number) && id.number != 0) return id;
  return invalid_argument("'" + std::string(text) + "' is not an id; ids look like " +
                          std::string(1, kPrefix) + "12");
}
inline Result<JobId> parse_job_id(std::string_view text) { return parse_id<'j'>(text); }
inline Result<NodeId> parse_node_id(std::string_view text) { return parse_id<'n'>(text); }

}  // namespace keiko
