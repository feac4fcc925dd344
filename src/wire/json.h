// Messages of the contract as JSON: protobuf's JSON mapping with the contract's own field names.
//
// Written here with two choices of ours, both of which every protobuf JSON reader accepts: 64-bit
// integers up to 2^53 are numbers, not strings, so that jq can add them; and fields of messages
// that have no presence are written even when empty, so that a reader finds every key.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace google::protobuf {
class Message;
}

namespace keiko {

/// RETURNS: one line of JSON, or indented by two spaces if `pretty`.
std::string to_json(const google::protobuf::Message& message, bool pretty = false);

/// Reads JSON into `message`. RETURNS: kInvalidArgument with the reader's sentence; unknown keys
/// are errors, as a misspelled key that is ignored runs the wrong job.
Done from_json(std::string_view json, google::protobuf::Message& message);

}  // namespace keiko
