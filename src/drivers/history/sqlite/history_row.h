// How a row's numbers are packed: names as numbers of the table of words, each metric's count as a
// varint and its minimum, maximum and mean as floats, or one float if they are equal.
//
//   word of the subject, metrics, { word << 1 | equal, count, mean [, min, max] } ... , again
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "model/history.h"

namespace keiko::sqlite_history {

/// RETURNS: the packed numbers; `number_of` gives a name's number.
std::string pack(const SubjectBuckets& subjects,
                 const std::function<uint64_t(const std::string&)>& number_of);

/// `word_of` gives a number's name, null if it has none. RETURNS: false for foreign bytes.
bool unpack(std::string_view body, const std::function<const std::string*(uint64_t)>& word_of,
            SubjectBuckets& subjects);

}  // namespace keiko::sqlite_history
