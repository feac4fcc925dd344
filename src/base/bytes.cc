#include "base/bytes.h"

#include <cstdio>

#include "base/text.h"

namespace keiko {

std::string to_text(Bytes bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes.count);
  int unit = 0;
  while ((value >= 1024 || value <= -1024) && unit < 5) {
    value /= 1024;
    ++unit;
  }
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.4g%s", value, kUnits[unit]);
  return buffer;
}

Result<Bytes> parse_bytes(std::string_view text) {
  double number = 0;
  const size_t digits = scan_number(text, number);
  std::string_view unit = text.substr(digits);
  double scale = 0;
  static constexpr std::string_view kPrefixes = "KMGTP";
  if (unit.empty() || unit == "B") {
    scale = 1;
  } else if (const size_t power = kPrefixes.find(unit[0]); power != std::string_view::npos) {
    const std::string_view rest = unit.substr(1);
    const double base = rest == "B" ? 1000 : 1024;
    if (rest.empty() || rest == "i" || rest == "iB" || rest == "B") {
      scale = base;
      for (size_t i = 0; i < power; ++i) scale *= base;
    }
  }
  if (digits == 0 || scale == 0 || number * scale > 9e18) {
    return invalid_argument("'" + std::string(text) +
                            "' is not a size; write a number and a unit (KiB, MiB, GiB, TiB; "
                            "GB is decimal), for example 16GiB");
  }
  return Bytes{static_cast<int64_t>(number * scale + 0.5)};
}

}  // namespace keiko
