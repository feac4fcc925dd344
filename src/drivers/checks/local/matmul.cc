#include "drivers/checks/local/matmul.h"

#include <vector>

#include "base/check.h"

namespace keiko::checks {

int64_t right_element(int64_t n, int64_t i, int64_t j) {
  const int64_t sum = n * (n - 1) / 2;
  const int64_t squares = n * (n - 1) * (2 * n - 1) / 6;
  return (i - j) * sum + squares - n * i * j;
}

std::string wrong_product(int32_t n) {
  CHECK(n >= 1 && n <= 256);
  const auto size = static_cast<size_t>(n);
  std::vector<double> a(size * size);
  std::vector<double> b(size * size);
  std::vector<double> c(size * size);
  for (size_t row = 0; row < size; ++row) {
    for (size_t column = 0; column < size; ++column) {
      a[row * size + column] = static_cast<double>(row + column);
      b[row * size + column] = static_cast<double>(row) - static_cast<double>(column);
    }
  }
  for (size_t i = 0; i < size; ++i) {
    for (size_t k = 0; k < size; ++k) {
      const double factor = a[i * size + k];
      for (size_t j = 0; j < size; ++j) c[i * size + j] += factor * b[k * size + j];
    }
  }
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) {
      const auto right = right_element(n, static_cast<int64_t>(i), static_cast<int64_t>(j));
      const double got = c[i * size + j];
      if (got == static_cast<double>(right)) continue;
      return "C(" + std::to_string(i) + "," + std::to_string(j) + ") is " + std::to_string(got) +
             " instead of " + std::to_string(right);
    }
  }
  return {};
}

}  // namespace keiko::checks
