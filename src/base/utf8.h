// UTF-8: text of programs may be any bytes, text on the wire may not.
#pragma once

#include <string>
#include <string_view>

namespace keiko {

/// RETURNS: the length of the longest prefix of `text` that is whole, valid UTF-8 (RFC 3629).
size_t valid_utf8_prefix(std::string_view text);

/// RETURNS: `text` with every byte that is not part of valid UTF-8 replaced by U+FFFD.
std::string clean_utf8(std::string_view text);

}  // namespace keiko
