// One list of fields per struct, and everything that follows from it: encode, decode, text, digest.
//
// A struct names its fields once, each with a tag that never changes its meaning:
//
//   struct Spec {
//     std::string name;
//     int32_t count = 1;
//     template <class S, class V> static void fields(S& s, V&& v) {
//       v(1, "name", s.name);
//       v(2, "count", s.count);
//     }
//   };
//
// Wire form, after protobuf's: key = tag << 3 | kind, kind 0 a zigzag varint, kind 2 a length and
// that many bytes. A decoder skips tags it does not know and leaves absent fields at their default,
// so old journals replay and a new field costs nothing. A field that is empty, and empty in a new T
// too, is not written. Equal values have equal bytes: only ordered containers are accepted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/id.h"
#include "base/result.h"
#include "base/text.h"
#include "base/time.h"

namespace keiko {

/// Appends `value` as a little-endian base-128 varint.
void put_varint(std::string& out, uint64_t value);

/// Reads a varint from the front of `in`. RETURNS: false if `in` is cut off or the number too long.
bool take_varint(std::string_view& in, uint64_t& value);

/// Signed numbers with small absolute value become small unsigned ones.
constexpr uint64_t zigzag(int64_t n) {
  return (static_cast<uint64_t>(n) << 1) ^ static_cast<uint64_t>(n >> 63);
}
constexpr int64_t unzigzag(uint64_t n) {
  return static_cast<int64_t>(n >> 1) ^ -static_cast<int64_t>(n & 1);
}

namespace fields_detail {

template <class T> struct IsVector : std::false_type {};
template <class T> struct IsVector<std::vector<T>> : std::true_type {};
template <class T> struct IsMap : std::false_type {};
template <class K, class T> struct IsMap<std::map<K, T>> : std::true_type {};
template <class T> struct IsSet : std::false_type {};
template <class T> struct IsSet<std::set<T>> : std::true_type {};
template <class T> struct IsOptional : std::false_type {};
template <class T> struct IsOptional<std::optional<T>> : std::true_type {};
template <class T> struct IsId : std::false_type {};
template <char kPrefix> struct IsId<Id<kPrefix>> : std::true_type {};

template <class T>
concept Number = std::is_integral_v<T> || std::is_enum_v<T>;
template <class T>
concept Wrapped = std::is_same_v<T, Duration> || std::is_same_v<T, Time> ||
                  std::is_same_v<T, Bytes> || IsId<T>::value;
template <class T>
concept Listed = !Wrapped<T> && !std::is_same_v<T, std::string> && !IsVector<T>::value &&
                 !IsMap<T>::value && !IsSet<T>::value && !IsOptional<T>::value && !Number<T>;

template <class T>
int64_t to_number(const T& value) {
  if constexpr (Number<T>) return static_cast<int64_t>(value);
  else if constexpr (std::is_same_v<T, Bytes>) return value.count;
  else if constexpr (IsId<T>::value) return static_cast<int64_t>(value.number);
  else return value.ns;
}

template <class T>
void from_number(int64_t number, T& value) {
  if constexpr (Number<T>) value = static_cast<T>(number);
  else if constexpr (std::is_same_v<T, Bytes>) value.count = number;
  else if constexpr (IsId<T>::value) value.number = static_cast<uint64_t>(number);
  else value.ns = number;
}

template <class T> void write_body(std::string& out, const T& value);
template <class T> bool read_body(std::string_view in, T& value);

/// An element of a container: numbers as varints, the rest with a length in front.
template <class T>
void write_element(std::string& out, const T& value) {
  if constexpr (Number<T> || Wrapped<T>) {
    put_varint(out, zigzag(to_number(value)));
  } else {
    std::string body;
    write_body(body, value);
    put_varint(out, body.size());
    out += body;
  }
}

template <class T>
bool read_element(std::string_view& in, T& value) {
  uint64_t raw = 0;
  if (!take_varint(in, raw)) return false;
  if constexpr (Number<T> || Wrapped<T>) {
    from_number(unzigzag(raw), value);
    return true;
  } else {
    if (raw > in.size()) return false;
    const std::string_view body = in.substr(0, raw);
    in.remove_prefix(raw);
    return read_body(body, value);
  }
}

template <class T>
bool is_empty(const T& value) {
  if constexpr (Number<T> || Wrapped<T>) return to_number(value) == 0;
  else if constexpr (IsOptional<T>::value) return !value.has_value();
  else if constexpr (Listed<T>) return false;
  else return value.empty();
}

/// Writes the fields of `self`. `fresh` is a new Owner: what is empty there may be left out, and
/// only that, since a reader starts from such an object.
template <class Owner>
struct Writer {
  std::string& out;
  const Owner& self;
  const Owner& fresh;

  template <class T>
  void operator()(uint32_t tag, const char* /*name*/, const T& value) {
    if (is_empty(value) && is_empty(of_fresh(value))) return;
    constexpr bool kVarint = Number<T> || Wrapped<T>;
    put_varint(out, uint64_t{tag} << 3 | (kVarint ? 0 : 2));
    write_element(out, value);
  }

  /// RETURNS: the same member of `fresh`. REQUIRES: `value` is a member of `self`.
  template <class T>
  const T& of_fresh(const T& value) const {
    const auto offset =
        reinterpret_cast<const char*>(&value) - reinterpret_cast<const char*>(&self);
    return *reinterpret_cast<const T*>(reinterpret_cast<const char*>(&fresh) + offset);
  }
};

/// Looks for one tag and reads its value into the field that carries it.
struct FieldReader {
  uint32_t tag;
  bool varint;
  uint64_t number;
  std::string_view body;
  bool ok = true;

  template <class T>
  void operator()(uint32_t field_tag, const char* /*name*/, T& value) {
    if (field_tag != tag) return;
    if constexpr (Number<T> || Wrapped<T>) {
      ok = varint;
      if (ok) from_number(unzigzag(number), value);
    } else {
      ok = !varint && read_body(body, value);
    }
  }
};

template <class T>
bool read_fields(std::string_view in, T& value) {
  while (!in.empty()) {
    uint64_t key = 0;
    uint64_t raw = 0;
    if (!take_varint(in, key) || !take_varint(in, raw)) return false;
    const uint64_t kind = key & 7;
    if (kind != 0 && kind != 2) return false;
    FieldReader reader{static_cast<uint32_t>(key >> 3), kind == 0, raw, {}};
    if (kind == 2) {
      if (raw > in.size()) return false;
      reader.body = in.substr(0, raw);
      in.remove_prefix(raw);
    }
    T::fields(value, reader);
    if (!reader.ok) return false;
  }
  return true;
}

template <class T>
void write_body(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    out += value;
  } else if constexpr (IsVector<T>::value || IsSet<T>::value) {
    for (const auto& element : value) write_element(out, element);
  } else if constexpr (IsMap<T>::value) {
    for (const auto& [key, element] : value) {
      write_element(out, key);
      write_element(out, element);
    }
  } else if constexpr (IsOptional<T>::value) {
    if (value.has_value()) write_element(out, *value);
  } else {
    static const T fresh{};
    T::fields(value, Writer<T>{out, value, fresh});
  }
}

template <class T>
bool read_body(std::string_view in, T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    value = in;
    return true;
  } else if constexpr (IsVector<T>::value) {
    value.clear();
    while (!in.empty()) {
      typename T::value_type element{};
      if (!read_element(in, element)) return false;
      value.push_back(std::move(element));
    }
    return true;
  } else if constexpr (IsSet<T>::value) {
    value.clear();
    while (!in.empty()) {
      typename T::value_type element{};
      if (!read_element(in, element)) return false;
      value.insert(std::move(element));
    }
    return true;
  } else if constexpr (IsMap<T>::value) {
    value.clear();
    while (!in.empty()) {
      typename T::key_type key{};
      typename T::mapped_type element{};
      if (!read_element(in, key) || !read_element(in, element)) return false;
      value.insert_or_assign(std::move(key), std::move(element));
    }
    return true;
  } else if constexpr (IsOptional<T>::value) {
    value.emplace();
    return read_element(in, *value) && in.empty();
  } else {
    return read_fields(in, value);
  }
}

struct Printer {
  std::string& out;

  template <class T>
  void operator()(uint32_t /*tag*/, const char* name, const T& value) {
    if (is_empty(value)) return;
    if (!out.empty() && out.back() != '{') out += ' ';
    out += name;
    out += '=';
    print(value);
  }

  template <class T>
  void print(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      out += value ? "true" : "false";
    } else if constexpr (std::is_enum_v<T>) {
      out += to_text(value);
    } else if constexpr (Number<T>) {
      out += std::to_string(value);
    } else if constexpr (Wrapped<T>) {
      out += to_text(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      const bool plain = value.find_first_of(" \"\n\t{}[]=,") == std::string::npos;
      out += plain && !value.empty() ? value : quote_text(value);
    } else if constexpr (IsVector<T>::value || IsSet<T>::value) {
      print_list(value);
    } else if constexpr (IsMap<T>::value) {
      out += '{';
      for (const auto& [key, element] : value) {
        if (out.back() != '{') out += ' ';
        print(key);
        out += ':';
        print(element);
      }
      out += '}';
    } else if constexpr (IsOptional<T>::value) {
      print(*value);
    } else {
      out += '{';
      T::fields(value, *this);
      out += '}';
    }
  }

  template <class T>
  void print_list(const T& list) {
    out += '[';
    bool first = true;
    for (const auto& element : list) {
      if (!first) out += ',';
      first = false;
      print(element);
    }
    out += ']';
  }
};

}  // namespace fields_detail

/// RETURNS: the bytes of `value`; equal values give equal bytes.
template <class T>
std::string encode(const T& value) {
  std::string out;
  fields_detail::write_body(out, value);
  return out;
}

/// RETURNS: the value, or kDataLoss if the bytes are not the encoding of a T.
template <class T>
Result<T> decode(std::string_view bytes) {
  T value{};
  if (!fields_detail::read_body(bytes, value)) return data_loss("malformed record");
  return value;
}

/// RETURNS: "name=value name=value" for traces and logs; empty fields are left out.
template <class T>
std::string fields_text(const T& value) {
  std::string out;
  fields_detail::Printer printer{out};
  T::fields(value, printer);
  return out;
}

}  // namespace keiko
