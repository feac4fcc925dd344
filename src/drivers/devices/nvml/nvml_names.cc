#include "drivers/devices/nvml/nvml_names.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>
#include <vector>

#include "base/text.h"

namespace keiko {
namespace {

constexpr std::string_view kMigMark = " MIG ";
constexpr int64_t kGibibyte = int64_t{1} << 30;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The words of a product in lower case: letters and digits, the rest divides.
std::vector<std::string> words_of(std::string_view product) {
  std::vector<std::string> words(1);
  for (const char c : product) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (is_digit(lower) || (lower >= 'a' && lower <= 'z')) words.back() += lower;
    else if (!words.back().empty()) words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// "80gb" is a size, not a model.
bool is_size(const std::string& word) {
  return word.size() > 2 && word.ends_with("gb") && is_digit(word[0]);
}

}  // namespace

std::string kind_of_product(std::string_view product) {
  static const std::set<std::string> kBrands = {"nvidia", "tesla",  "geforce",  "quadro",
                                                "gpu",    "laptop", "graphics", "device"};
  static const std::set<std::string> kFamilies = {"rtx", "gtx", "pro", "titan"};
  const std::vector<std::string> words = words_of(without_mig_profile(product));
  std::string family;
  std::string all;
  for (const std::string& word : words) {
    if (kBrands.count(word) != 0 || is_size(word)) continue;
    all += word;
    if (kFamilies.count(word) != 0) {
      family += word;
      continue;
    }
    if (std::none_of(word.begin(), word.end(), is_digit)) continue;
    const bool ada = std::find(words.begin(), words.end(), "ada") != words.end();
    return (is_digit(word[0]) ? family + word : word) + (ada ? "ada" : "");
  }
  return all.empty() ? "gpu" : all;
}

std::string architecture_name(uint32_t number) {
  static constexpr std::array kNames = {"",       "",       "kepler",   "maxwell",
                                        "pascal", "volta",  "turing",   "ampere",
                                        "ada",    "hopper", "blackwell"};
  return number < kNames.size() ? kNames[number] : "";
}

std::string mig_profile_of_name(std::string_view product) {
  const size_t mark = product.find(kMigMark);
  if (mark == std::string_view::npos) return {};
  return std::string(trim(product.substr(mark + kMigMark.size())));
}

std::string_view without_mig_profile(std::string_view product) {
  return product.substr(0, product.find(kMigMark));
}

std::string mig_profile_of(const NvmlAttributes& slice, int64_t gpu_bytes) {
  if (slice.gpu_slices == 0 || slice.gpu_slices > 16 || gpu_bytes <= 0) return {};
  const double share = static_cast<double>(slice.memory_mib) * 1048576.0 /
                       static_cast<double>(gpu_bytes);
  if (!(share > 0) || share > 1) return {};
  const auto gigabytes = static_cast<double>((gpu_bytes + kGibibyte - 1) / kGibibyte);
  const double memory = std::round(std::ceil(share * 8) / 8 * gigabytes);
  std::string profile;
  if (slice.compute_slices > 0 && slice.compute_slices < slice.gpu_slices) {
    profile = std::to_string(slice.compute_slices) + "c.";
  }
  return profile + std::to_string(slice.gpu_slices) + "g." +
         std::to_string(static_cast<int>(memory)) + "gb";
}

std::string pci_address(const NvmlPci& pci) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
  return text;
}

}  // namespace keiko
