#include "core/state/journal_dump.h"

namespace keiko {
namespace {

constexpr std::string_view kMagic = "keiko dump 1\n";
constexpr std::string_view kFamily = "keiko dump ";

void put_text(std::string& out, std::string_view text) {
  put_varint(out, text.size());
  out += text;
}

bool take_text(std::string_view& rest, std::string& out) {
  uint64_t size = 0;
  if (!take_varint(rest, size) || size > rest.size()) return false;
  out = rest.substr(0, size);
  rest.remove_prefix(size);
  return true;
}

}  // namespace

std::string encode_dump_head(uint64_t snapshot_sequence, std::string_view snapshot) {
  std::string out(kMagic);
  put_varint(out, snapshot_sequence);
  put_text(out, snapshot);
  return out;
}

std::string encode_dump_record(uint64_t term, std::string_view record) {
  std::string out;
  put_varint(out, term);
  put_text(out, record);
  return out;
}

Result<JournalDump> decode_dump(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) {
    return invalid_argument(bytes.starts_with(kFamily)
                                ? "the dump is of another version of keiko; use that one"
                                : "not a dump; `keiko journal dump FILE` writes one");
  }
  bytes.remove_prefix(kMagic.size());
  JournalDump dump;
  if (!take_varint(bytes, dump.snapshot_sequence) || !take_text(bytes, dump.snapshot)) {
    return data_loss("the dump is cut off in its snapshot; dump again");
  }
  while (!bytes.empty()) {
    DumpedRecord record;
    if (!take_varint(bytes, record.term) || !take_text(bytes, record.bytes)) {
      const uint64_t sequence = dump.snapshot_sequence + dump.records.size() + 1;
      return data_loss("the dump is cut off in record " + std::to_string(sequence) +
                       "; dump again");
    }
    dump.records.push_back(std::move(record));
  }
  return dump;
}

Result<StateEvent> replay_record(State& state, uint64_t sequence, const DumpedRecord& record) {
  Result<StateEvent> event = decode_event(record.bytes);
  const Done applied = event.ok() ? apply(state, *event) : Done(event.error());
  if (applied.ok()) return event;
  return data_loss("record " + std::to_string(sequence) + ": " + applied.error().text());
}

}  // namespace keiko
