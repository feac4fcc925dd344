// Errors as values: Result<T>, Done and the two words TRY and MUST.
//
// An Error means that the world misbehaved. A refusal ("no, because ...") is a model::Verdict and a
// bug is a CHECK; neither travels as an Error. Codes are the 16 canonical ones, so that core, gRPC,
// HTTP and the command line agree; a new meaning goes into the message, not into a new code.
// Thread-safe as any value type is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"

namespace keiko {

/// The canonical codes, with gRPC's numbers.
enum class Code : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// RETURNS: the code's name in lower snake case, as the API prints it ("not_found").
std::string_view code_name(Code code);

/// What went wrong (code, a sentence for a person) and where (file:line, or file, line and column
/// of a user's document). The message says what to do about it whenever we know.
struct Error {
  Code code = Code::kUnknown;
  std::string message;
  std::string where;

  /// RETURNS: "invalid_argument: message (where)".
  std::string text() const;
};

/// Either a T or an Error. [[nodiscard]]: a dropped error does not compile.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}        // NOLINT
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}    // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// REQUIRES: ok().
  T& value() & { CHECK(ok()); return std::get<0>(state_); }
  const T& value() const& { CHECK(ok()); return std::get<0>(state_); }
  T&& value() && { CHECK(ok()); return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  T value_or(T fallback) const& { return ok() ? std::get<0>(state_) : std::move(fallback); }

  /// REQUIRES: !ok().
  const Error& error() const& { CHECK(!ok()); return std::get<1>(state_); }
  Error&& error() && { CHECK(!ok()); return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

/// The value of an operation that only succeeds or fails.
struct Unit {
  friend bool operator==(const Unit&, const Unit&) = default;
};

/// A Result without a value; `return done();` is success.
using Done = Result<Unit>;
inline Done done() { return Unit{}; }

/// Short constructors for the common codes.
inline Error invalid_argument(std::string message, std::string where = {}) {
  return {Code::kInvalidArgument, std::move(message), std::move(where)};
}
inline Error not_found(std::string message) { return {Code::kNotFound, std::move(message), {}}; }
inline Error already_exists(std::string message) {
  return {Code::kAlreadyExists, std::move(message), {}};
}
inline Error failed_precondition(std::string message) {
  return {Code::kFailedPrecondition, std::move(message), {}};
}
inline Error unavailable(std::string message) {
  return {Code::kUnavailable, std::move(message), {}};
}
inline Error internal_error(std::string message) {
  return {Code::kInternal, std::move(message), {}};
}
inline Error data_loss(std::string message) { return {Code::kDataLoss, std::move(message), {}}; }
inline Error resource_exhausted(std::string message) {
  return {Code::kResourceExhausted, std::move(message), {}};
}
inline Error deadline_exceeded(std::string message) {
  return {Code::kDeadlineExceeded, std::move(message), {}};
}

/// RETURNS: an Error made of errno's text: "open /x: Permission denied".
Error errno_error(std::string_view what, int error_number);

}  // namespace keiko

/// The value of a Result, or return its error from the enclosing function:
///   auto x = TRY(parse(text));
/// A statement expression, so that it reads as prose; gcc and clang both have it.
#define TRY(expression)                                             \
  __extension__({                                                   \
    auto try_result_ = (expression);                                \
    if (!try_result_.ok()) return std::move(try_result_).error();   \
    std::move(try_result_).value();                                 \
  })

/// The value of a Result that cannot fail here; a failure is a bug and aborts with its text.
#define MUST(expression)                                                              \
  __extension__({                                                                     \
    auto must_result_ = (expression);                                                 \
    if (!must_result_.ok())                                                           \
      ::keiko::check_failed(__FILE__, __LINE__, must_result_.error().text().c_str()); \
    std::move(must_result_).value();                                                  \
  })
