// One journal record: version byte, kind, time, fields. The kind decides which struct the fields
// are read into; within a struct, unknown tags are skipped and absent ones keep their default.
#include "core/state/event.h"

namespace keiko {
namespace {

constexpr char kVersion = 1;

template <class Body>
Result<StateEvent> decode_body(Time at, std::string_view fields) {
  return StateEvent{at, TRY(decode<Body>(fields))};
}

/// Tries each alternative's kind in turn.
template <size_t kIndex = 0>
Result<StateEvent> decode_kind(uint64_t kind, Time at, std::string_view fields) {
  if constexpr (kIndex == std::variant_size_v<StateBody>) {
    return Error{Code::kUnimplemented,
                 "the journal holds an event of kind " + std::to_string(kind) +
                     ", which this version does not know; start the newer version again",
                 {}};
  } else {
    using Body = std::variant_alternative_t<kIndex, StateBody>;
    if (Body::kKind == kind) return decode_body<Body>(at, fields);
    return decode_kind<kIndex + 1>(kind, at, fields);
  }
}

}  // namespace

std::string encode_event(const StateEvent& event) {
  std::string out(1, kVersion);
  std::visit(
      [&](const auto& body) {
        put_varint(out, body.kKind);
        put_varint(out, zigzag(event.at.ns));
        out += encode(body);
      },
      event.body);
  return out;
}

Result<StateEvent> decode_event(std::string_view bytes) {
  if (bytes.empty()) return data_loss("an empty journal record");
  if (bytes[0] != kVersion) {
    return Error{Code::kUnimplemented,
                 "a journal record of version " + std::to_string(bytes[0]) +
                     "; this program reads version 1",
                 {}};
  }
  bytes.remove_prefix(1);
  uint64_t kind = 0;
  uint64_t at = 0;
  if (!take_varint(bytes, kind) || !take_varint(bytes, at)) {
    return data_loss("a journal record is cut off");
  }
  return decode_kind(kind, Time{unzigzag(at)}, bytes);
}

}  // namespace keiko
