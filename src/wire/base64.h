// Base64 (RFC 4648, section 4): how JSON carries bytes.
#pragma once

#include <string>
#include <string_view>

namespace keiko {

std::string to_base64(std::string_view bytes);

}  // namespace keiko
