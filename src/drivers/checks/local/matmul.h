// A small product of two matrices whose every element is known beforehand: what computes must
// compute it right. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>

namespace keiko::checks {

/// With A(i,k) = i + k and B(k,j) = k - j, both n by n, the element (i,j) of A·B is
/// (i - j)·n(n-1)/2 + n(n-1)(2n-1)/6 - n·i·j: an integer that a double holds exactly up to n = 256.
/// RETURNS: the first element that is not right as "C(3,5) is 1 instead of 2"; empty if all are.
/// REQUIRES: 1 <= n <= 256.
std::string wrong_product(int32_t n);

/// RETURNS: the exact element (i,j) for that n.
int64_t right_element(int64_t n, int64_t i, int64_t j);

}  // namespace keiko::checks
