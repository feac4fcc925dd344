// Checks of devices and of a machine, as plain structs: what is asked for, and what each found.
#pragma once

#include <string>
#include <vector>

#include "model/device.h"

namespace keiko {

/// Why a check is made; the longer ones never run beside a worker of the device.
enum class CheckKind : int {
  kPreflight = 0,     ///< before a worker starts; quick
  kPeriodic = 1,      ///< now and then, on what is idle
  kAfterFailure = 2,  ///< on what a failed worker had
  kRetest = 3,        ///< of what is ill: the way out of a quarantine
  kReset = 4,         ///< the device is reset, then checked: one outcome is named kResetCheck
};
std::string to_text(CheckKind kind);  ///< "preflight", "periodic", ..., "retest", "reset"

/// The outcome that says how a reset went: kOk, kCrit if it failed, kNotCovered if nobody can.
inline constexpr const char* kResetCheck = "reset";

/// The first four are also the exit codes of a check that an operator wrote.
enum class CheckVerdict : int {
  kOk = 0,
  kWarn = 1,
  kCrit = 2,
  kUnknown = 3,     ///< it did not come to an answer
  kNotCovered = 4,  ///< nobody here can check that
};
std::string to_text(CheckVerdict verdict);  ///< "ok", "warn", "crit", "unknown", "not_covered"

struct CheckOrder {
  CheckKind kind = CheckKind::kPreflight;
  bool machine = false;         ///< the machine is checked, too: disk, clock
  std::vector<Device> devices;  ///< each is checked
  std::vector<Link> links;      ///< between devices of the node, as they were found at its start
};

struct CheckOutcome {
  std::string check;  ///< its name, "compute"
  std::string uuid;   ///< of the device; empty: it is about the machine
  CheckVerdict verdict = CheckVerdict::kOk;
  std::string text;   ///< what was seen, one line

  friend bool operator==(const CheckOutcome&, const CheckOutcome&) = default;
};

}  // namespace keiko
