// What validate() refuses beyond what the types say: variables of a worker's environment that Keiko
// alone sets. A job that sets one would see devices that are not its own, or meet nobody.
#pragma once

#include <string_view>

namespace keiko {

/// What a variable that belongs to Keiko tells a worker.
enum class Reserved : int {
  kNo = 0,       ///< it is the job's
  kDevices = 1,  ///< which devices it sees, or how they are counted
  kPlace = 2,    ///< its rank and the gang's meeting point
};

/// RETURNS: kDevices for every variable that a driver of Devices may set.
Reserved reserved(std::string_view variable);

}  // namespace keiko
