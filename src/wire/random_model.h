// Random values of the model's structs, drawn through their field lists: for property tests.
#pragma once

#include "base/fields.h"
#include "base/prng.h"
#include "model/device.h"
#include "model/host.h"
#include "model/job.h"

namespace keiko {

template <class T>
T random_value(Prng& prng);

namespace random_detail {

inline std::string random_text(Prng& prng) {
  static constexpr const char* kPieces[] = {"a", "7", "-", " ", "\n", "\"", "é", "稽", "=", "x"};
  std::string text;
  for (uint64_t n = prng.below(12); n > 0; --n) text += kPieces[prng.below(std::size(kPieces))];
  return text;
}

/// The largest valid value of an enumeration.
template <class E> constexpr int kLast = 0;
template <> inline constexpr int kLast<LinkKind> = 5;
template <> inline constexpr int kLast<JobKind> = 1;
template <> inline constexpr int kLast<NicKind> = 3;

struct Randomizer {
  Prng& prng;

  template <class T>
  void operator()(uint32_t /*tag*/, const char* /*name*/, T& value) {
    value = random_value<T>(prng);
  }
};

}  // namespace random_detail

/// RETURNS: a T whose fields are random, containers short, enumerations valid.
template <class T>
T random_value(Prng& prng) {
  namespace fd = fields_detail;
  T value{};
  if constexpr (std::is_same_v<T, bool>) {
    value = prng.chance(1, 2);
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(prng.between(0, random_detail::kLast<T>));
  } else if constexpr (fd::Number<T> || fd::Wrapped<T>) {
    const bool wide = sizeof(T) > 4 && prng.chance(1, 4);
    fd::from_number(wide ? prng.between(-(int64_t{1} << 62), int64_t{1} << 62)
                         : prng.between(-1'000'000, 1'000'000), value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = random_detail::random_text(prng);
  } else if constexpr (fd::IsVector<T>::value) {
    for (uint64_t n = prng.below(4); n > 0; --n) {
      value.push_back(random_value<typename T::value_type>(prng));
    }
  } else if constexpr (fd::IsOptional<T>::value) {
    if (prng.chance(1, 2)) value = random_value<typename T::value_type>(prng);
  } else if constexpr (fd::IsMap<T>::value) {
    for (uint64_t n = prng.below(4); n > 0; --n) {
      value[random_value<typename T::key_type>(prng)] = random_value<typename T::mapped_type>(prng);
    }
  } else {
    random_detail::Randomizer randomizer{prng};
    T::fields(value, randomizer);
  }
  return value;
}

}  // namespace keiko
