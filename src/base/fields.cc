#include "base/fields.h"

namespace keiko {

void put_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

bool take_varint(std::string_view& in, uint64_t& value) {
  value = 0;
  for (unsigned shift = 0, used = 0; used < in.size() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(in[used++]);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) {
      in.remove_prefix(used);
      return true;
    }
  }
  return false;
}

}  // namespace keiko
