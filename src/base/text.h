// Small text tools that the standard library of C++20 lacks: split, join, number scanning, the
// nearest word for "did you mean". Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace keiko {

/// Reads an unsigned decimal number ("12", "1.5") at the start of `text`.
/// RETURNS: the number of characters read, 0 if there is no number there.
size_t scan_number(std::string_view text, double& number);

/// RETURNS: the pieces between `separator`s; an empty text has one empty piece.
std::vector<std::string> split(std::string_view text, char separator);

std::string join(const std::vector<std::string>& pieces, std::string_view separator);

std::string_view trim(std::string_view text);

/// RETURNS: the numbers of a list as the kernel writes them, "0-3,8"; empty if any part of it is no
/// such list.
std::vector<int32_t> parse_number_list(std::string_view text);

/// RETURNS: the number of single-character edits between two words (Levenshtein 1966).
size_t edit_distance(std::string_view a, std::string_view b);

/// Of ASCII letters only.
bool same_but_for_case(std::string_view a, std::string_view b);

/// RETURNS: the candidate nearest to `word`, or empty if none is near enough to be meant.
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates);

/// RETURNS: `text` with quotes and control characters escaped, within double quotes (JSON's rules).
std::string quote_text(std::string_view text);

}  // namespace keiko
