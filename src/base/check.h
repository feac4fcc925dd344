// CHECK: a condition whose failure is a bug in Keiko. Always on, in production too, because a wrong
// scheduler is worse than a stopped one: the journal brings it back in a known state.
#pragma once

namespace keiko {

/// Prints "CHECK failed at file:line: text" to standard error and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* text);

}  // namespace keiko

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) [[unlikely]]                                    \
      ::keiko::check_failed(__FILE__, __LINE__, #condition);          \
  } while (false)

/// For checks too dear for production; on in the debug and sanitizer presets.
#ifdef KEIKO_DCHECK
#define DCHECK(condition) CHECK(condition)
#else
#define DCHECK(condition) \
  do {                    \
  } while (false && (condition))
#endif
