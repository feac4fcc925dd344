#include "drivers/devices/rocm/rocm_names.h"

namespace keiko {
namespace {

struct ProductRow {
  int64_t device_id;
  const char* kind;
  const char* product;
};

// Device ids after the public PCI id list; the second of a pair is its virtual function.
constexpr ProductRow kProducts[] = {
    {0x66a0, "mi50", "AMD Instinct MI50"},    {0x66a1, "mi50", "AMD Instinct MI50"},
    {0x738c, "mi100", "AMD Instinct MI100"},  {0x738e, "mi100", "AMD Instinct MI100"},
    {0x7408, "mi250x", "AMD Instinct MI250X"}, {0x740c, "mi250", "AMD Instinct MI250"},
    {0x740f, "mi210", "AMD Instinct MI210"},  {0x7410, "mi210", "AMD Instinct MI210"},
    {0x74a0, "mi300a", "AMD Instinct MI300A"}, {0x74a1, "mi300x", "AMD Instinct MI300X"},
    {0x74b5, "mi300x", "AMD Instinct MI300X"}, {0x74a2, "mi308x", "AMD Instinct MI308X"},
    {0x74a5, "mi325x", "AMD Instinct MI325X"}, {0x74b9, "mi325x", "AMD Instinct MI325X"},
    {0x75a0, "mi350x", "AMD Instinct MI350X"}, {0x75b0, "mi350x", "AMD Instinct MI350X"},
    {0x75a3, "mi355x", "AMD Instinct MI355X"}, {0x75b3, "mi355x", "AMD Instinct MI355X"}};

struct ArchitectureRow {
  const char* gfx;  ///< how the processor's name begins
  const char* architecture;
};

constexpr ArchitectureRow kArchitectures[] = {
    {"gfx906", "gcn5"},   {"gfx908", "cdna"},  {"gfx90a", "cdna2"}, {"gfx94", "cdna3"},
    {"gfx950", "cdna4"},  {"gfx101", "rdna"},  {"gfx103", "rdna2"}, {"gfx11", "rdna3"},
    {"gfx12", "rdna4"}};

std::string one_hex(int64_t number) {
  return std::string(1, "0123456789abcdef"[number % 16]);
}

}  // namespace

std::string gfx_name(int64_t gfx_target_version) {
  // Two decimal digits each for minor and stepping, which the name has as one hexadecimal digit.
  const int64_t major = gfx_target_version / 10'000;
  const int64_t minor = gfx_target_version / 100 % 100;
  const int64_t stepping = gfx_target_version % 100;
  if (major < 1 || major > 99 || minor > 15 || stepping > 15) return {};
  return "gfx" + std::to_string(major) + one_hex(minor) + one_hex(stepping);
}

RocmProduct product_of(int64_t device_id, int64_t gfx_target_version) {
  const std::string gfx = gfx_name(gfx_target_version);
  RocmProduct found{gfx.empty() ? "amd" : gfx, "", ""};
  for (const ArchitectureRow& row : kArchitectures) {
    if (gfx.rfind(row.gfx, 0) == 0) found.architecture = row.architecture;
  }
  for (const ProductRow& row : kProducts) {
    if (row.device_id != device_id) continue;
    found.kind = row.kind;
    found.product = row.product;
  }
  return found;
}

}  // namespace keiko
