#include "drivers/journal/sqlite/batch.h"

#include "base/digest.h"
#include "base/fields.h"

namespace keiko::sqlite {
namespace {

void put_u32(std::string& out, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xff);
}

bool take_u32(std::string_view& in, uint32_t& value) {
  if (in.size() < 4) return false;
  value = 0;
  for (size_t i = 0; i < 4; ++i) value |= uint32_t{static_cast<uint8_t>(in[i])} << (8 * i);
  in.remove_prefix(4);
  return true;
}

Error broken_record(uint64_t sequence, const char* what) {
  return data_loss("record " + std::to_string(sequence) + " " + what);
}

}  // namespace

uint32_t record_checksum(uint64_t sequence, Term term, std::string_view bytes) {
  std::string head;
  put_varint(head, sequence);
  put_varint(head, term.number);
  return crc32c(bytes, crc32c(head));
}

std::string encode_batch(uint64_t first, Term term, std::span<const std::string> records) {
  std::string body;
  for (size_t i = 0; i < records.size(); ++i) {
    put_u32(body, record_checksum(first + i, term, records[i]));
    put_varint(body, records[i].size());
    body += records[i];
  }
  return body;
}

Result<std::vector<JournalRecord>> decode_batch(uint64_t first, uint64_t count, Term term,
                                                std::string_view body) {
  std::vector<JournalRecord> out;
  for (uint64_t sequence = first; sequence < first + count; ++sequence) {
    uint32_t checksum = 0;
    uint64_t size = 0;
    if (!take_u32(body, checksum) || !take_varint(body, size) || size > body.size()) {
      return broken_record(sequence, "is cut off");
    }
    const std::string_view bytes = body.substr(0, size);
    body.remove_prefix(size);
    if (checksum != record_checksum(sequence, term, bytes)) {
      return broken_record(sequence, "does not match its checksum");
    }
    out.push_back({sequence, term, std::string(bytes)});
  }
  if (!body.empty()) return broken_record(first + count, "stands in a batch that ended before it");
  return out;
}

}  // namespace keiko::sqlite
