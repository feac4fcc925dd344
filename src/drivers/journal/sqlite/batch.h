// The body of a batch, one row of the database: for each record a CRC-32C (4 bytes, little-endian),
// a varint length and the bytes. The checksum covers sequence and term as well, so a body that
// lands under another batch's row is seen. Pure functions; bytes from a broken disk are expected.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ports/journal.h"

namespace keiko::sqlite {

/// RETURNS: the checksum of one record, or of a snapshot at `sequence`.
uint32_t record_checksum(uint64_t sequence, Term term, std::string_view bytes);

/// RETURNS: the body for `records`, the first of which has sequence `first`.
std::string encode_batch(uint64_t first, Term term, std::span<const std::string> records);

/// RETURNS: the `count` records of `body`; kDataLoss naming the first record that is not what was
/// written, or the first that a cut or lengthened body lacks.
Result<std::vector<JournalRecord>> decode_batch(uint64_t first, uint64_t count, Term term,
                                                std::string_view body);

}  // namespace keiko::sqlite
