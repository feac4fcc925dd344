// The table of drivers: which vendor or OS thing can stand behind which port in this build. The
// only place where parts meet; `keiko drivers` prints it.
#pragma once

#include <string>
#include <vector>

namespace keiko::apps {

/// One driver of one port.
struct DriverRow {
  std::string port;      ///< "journal"
  std::string name;      ///< "sqlite"
  std::string summary;
  bool fallback = false; ///< used unless another is asked for
};

/// RETURNS: every driver of this build, by port.
const std::vector<DriverRow>& drivers();

}  // namespace keiko::apps
