// Port Checks: tries out devices and the machine, and says what it found.
//
// One verb, which takes its time: a preflight check milliseconds to seconds, others minutes. A
// driver never throws; what it cannot check it says, it never passes it over. One thread at a time.
#pragma once

#include <stop_token>
#include <vector>

#include "model/check.h"

namespace keiko {

class Checks {
 public:
  virtual ~Checks() = default;

  /// RETURNS: what each check found; at least one outcome for each device of the order, one of them
  /// kCrit if the device is not there, and at least one for the machine if it was ordered. Ends
  /// soon once `stop` is requested; what has no answer by then is kUnknown.
  virtual std::vector<CheckOutcome> run(const CheckOrder& order, const std::stop_token& stop) = 0;
};

}  // namespace keiko
