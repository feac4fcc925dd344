// One writer per state directory: a lock of the operating system on <directory>/journal.lock, with
// the holder's pid in the file for people. The kernel drops it when the process dies, however it
// dies, so there is nothing stale to clean up.
#pragma once

#include <string>

#include "base/result.h"

namespace keiko::sqlite {

class ProcessLock {
 public:
  ProcessLock() = default;
  ProcessLock(const ProcessLock&) = delete;
  ProcessLock& operator=(const ProcessLock&) = delete;
  ~ProcessLock();

  /// Takes the lock, or keeps it if this object has it.
  /// RETURNS: kFailedPrecondition naming the holder's pid if somebody else has it.
  Done take(const std::string& directory);

 private:
  int file_ = -1;  // open while the lock is held
};

}  // namespace keiko::sqlite
