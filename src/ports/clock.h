// Clock: the socket in the wall for time. Only shells hold one; the brains get their time from the
// event they step. Every implementation may be asked from any thread.
#pragma once

#include "base/time.h"

namespace keiko {

class Clock {
 public:
  virtual ~Clock() = default;

  /// RETURNS: a point on this clock's forward-only line, never before one it returned earlier.
  virtual Time now() = 0;

  /// RETURNS: what the machine's wall clock shows, for people to read; it may jump either way.
  virtual WallTime wall() = 0;
};

}  // namespace keiko
