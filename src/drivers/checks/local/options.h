// Options of the local checks. apps/ fills them from flags; tests from code.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/time.h"

namespace keiko {

struct LocalChecksOptions {
  /// Executable files in it are checks, too; empty: none. See hook.h.
  std::string hooks_dir = "/etc/keiko/checks.d";
  /// Resets the device that the environment names, as for a hook: exit 0 it was reset, 2 it could
  /// not be, anything else no answer. Empty: nobody resets devices.
  std::string reset_program;
  /// What one hook may take before a worker starts: a user waits for it ...
  Duration preflight_limit = seconds(5);
  /// ... and otherwise: long enough for a vendor's own test of some minutes.
  Duration limit = minutes(10);
  /// A worker of just now may hold a device's memory a moment longer than it lives.
  Duration memory_patience = seconds(3);
  /// How old the list of devices may be for a preflight check.
  Duration fresh = seconds(5);
};

}  // namespace keiko
