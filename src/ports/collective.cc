// The arithmetic that every Collective driver shares, so that all of them give the same bits.
#include "ports/collective.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/check.h"

namespace keiko {

size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::kF32: return 4;
    case ElementType::kBf16: return 2;
    case ElementType::kF64: return 8;
    case ElementType::kI64: return 8;
    case ElementType::kI32: return 4;
    case ElementType::kU8: return 1;
  }
  CHECK(false);
}

std::string_view to_text(ElementType type) {
  constexpr std::array<std::string_view, 6> kNames = {"f32", "bf16", "f64", "i64", "i32", "u8"};
  return kNames.at(static_cast<size_t>(type));
}

std::string_view to_text(ReduceOp op) {
  constexpr std::array<std::string_view, 3> kNames = {"sum", "max", "min"};
  return kNames.at(static_cast<size_t>(op));
}

float bf16_to_float(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t float_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  const uint32_t round = 0x7fff + ((bits >> 16) & 1);
  return static_cast<uint16_t>((bits + round) >> 16);
}

namespace {

// A block of accumulators that stays in the first-level cache.
constexpr size_t kBlock = 1024;

struct Bf16 {
  uint16_t bits;
};

template <class T>
struct Wide {
  using type = T;
  static T load(T value) { return value; }
  static T store(T value) { return value; }
};
template <>
struct Wide<Bf16> {
  using type = float;
  static float load(Bf16 value) { return bf16_to_float(value.bits); }
  static Bf16 store(float value) { return {float_to_bf16(value)}; }
};

template <ReduceOp kOp, class A>
A combine(A a, A b) {
  if constexpr (kOp == ReduceOp::kSum) {
    // Unsigned addition wraps; signed overflow would be undefined.
    if constexpr (std::is_integral_v<A>) {
      using U = std::make_unsigned_t<A>;
      return static_cast<A>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    } else {
      return a + b;
    }
  } else {
    if constexpr (std::is_floating_point_v<A>) {
      if (std::isnan(a)) return a;
      if (std::isnan(b)) return b;
    }
    return kOp == ReduceOp::kMax ? std::max(a, b) : std::min(a, b);
  }
}

// -O3 for this loop alone: -O2 of gcc 12 does not vectorise loops of unknown length.
template <class T, ReduceOp kOp>
[[gnu::optimize("O3")]] void reduce_typed(void* out, std::span<const void* const> parts,
                                          size_t count) {
  using A = typename Wide<T>::type;
  std::array<A, kBlock> sum;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t n = std::min(kBlock, count - begin);
    const T* first = static_cast<const T*>(parts[0]) + begin;
    for (size_t i = 0; i < n; ++i) sum[i] = Wide<T>::load(first[i]);
    for (const void* part : parts.subspan(1)) {
      const T* next = static_cast<const T*>(part) + begin;
      for (size_t i = 0; i < n; ++i) sum[i] = combine<kOp, A>(sum[i], Wide<T>::load(next[i]));
    }
    T* to = static_cast<T*>(out) + begin;
    for (size_t i = 0; i < n; ++i) to[i] = Wide<T>::store(sum[i]);
  }
}

template <class T>
void reduce_op(void* out, std::span<const void* const> parts, size_t count, ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum: return reduce_typed<T, ReduceOp::kSum>(out, parts, count);
    case ReduceOp::kMax: return reduce_typed<T, ReduceOp::kMax>(out, parts, count);
    case ReduceOp::kMin: return reduce_typed<T, ReduceOp::kMin>(out, parts, count);
  }
}

std::string describe(std::string_view verb, const CollectiveBuffer& buffer) {
  return std::string(verb) + " of " + std::to_string(buffer.count) + " " +
         std::string(to_text(buffer.type));
}

}  // namespace

void reduce_parts(void* out, std::span<const void* const> parts, size_t count, ElementType type,
                  ReduceOp op) {
  CHECK(!parts.empty());
  switch (type) {
    case ElementType::kF32: return reduce_op<float>(out, parts, count, op);
    case ElementType::kBf16: return reduce_op<Bf16>(out, parts, count, op);
    case ElementType::kF64: return reduce_op<double>(out, parts, count, op);
    case ElementType::kI64: return reduce_op<int64_t>(out, parts, count, op);
    case ElementType::kI32: return reduce_op<int32_t>(out, parts, count, op);
    case ElementType::kU8: return reduce_op<uint8_t>(out, parts, count, op);
  }
}

std::string describe_all_reduce(const CollectiveBuffer& buffer, ReduceOp op) {
  return describe("all_reduce " + std::string(to_text(op)), buffer);
}

std::string describe_broadcast(const CollectiveBuffer& buffer, int root) {
  return describe("broadcast from rank " + std::to_string(root), buffer);
}

std::string describe_all_gather(const CollectiveBuffer& buffer) {
  return describe("all_gather", buffer);
}

}  // namespace keiko
