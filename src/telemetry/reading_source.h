// ReadingSource: whoever tells the present numbers of one part of this machine.
//
// A source may be slow (a vendor's library, a disk that hangs), so each is read from a thread of
// its own and never by two at once. What it cannot tell is absent: a reading is finite and true, or
// it is not there. Names are those of the catalogue.
#pragma once

#include <vector>

#include "base/result.h"
#include "model/reading.h"

namespace keiko::telemetry {

class ReadingSource {
 public:
  virtual ~ReadingSource() = default;

  /// RETURNS: what there is now, each subject once; what has gone is left out.
  virtual Result<std::vector<Reading>> read() = 0;
};

}  // namespace keiko::telemetry
