// A section file: named runs of bytes, each with its length and CRC-32C, behind one header.
//
//   magic "KEIKOSF1" | section count u32 | header crc u32
//   count times: name (16 bytes, zero-padded) | length u64 | crc u32 | crc of this row u32
//   the sections' bytes, in the same order, nothing after them
//
// Integers are little-endian. A file is whole or refused: it is written under a temporary name,
// fsynced, renamed, and its folder fsynced, so a name that exists is a file that was complete.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace keiko::train {

struct SectionView {
  std::string name;  ///< 16 bytes at most
  std::string_view bytes;
};

using Sections = std::map<std::string, std::string>;

/// The end of a name that marks a file in the making.
inline constexpr std::string_view kUnfinishedSuffix = ".unfinished";

/// Writes `path` durably. RETURNS: the failing call and its cause; the old file then still stands.
Done write_section_file(const std::string& path, const std::vector<SectionView>& sections);

/// RETURNS: every section, or kDataLoss naming the file and what does not add up.
Result<Sections> read_section_file(const std::string& path);

}  // namespace keiko::train
