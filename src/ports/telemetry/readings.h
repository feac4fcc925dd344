// Port ReadingSource: the present numbers of one part of this machine, for telemetry.
//
// A source may be slow (a vendor's library, a disk that hangs), so each is read from a thread of
// its own and never by two at once. What it cannot tell is absent: a reading is finite and true, or
// it is not there. Names are a catalogue of the telemetry room (src/telemetry/catalogue.cc).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace keiko {

enum class SubjectKind : int {
  kNode = 0,    ///< the machine; no id
  kDevice = 1,  ///< by UUID
  kWorker = 2,  ///< by key, "j7.1.0"
  kNic = 3,     ///< a network interface, "eth0"
  kRdma = 4,    ///< a port that speaks RDMA, "mlx5_0/1"
  kDisk = 5,    ///< a whole block device, "nvme0n1"
};

/// What a reading is about.
struct Subject {
  SubjectKind kind = SubjectKind::kNode;
  std::string id;

  friend auto operator<=>(const Subject&, const Subject&) = default;
};

/// Numbers by name: "memory_used_bytes", "cpu_user_seconds".
using Values = std::map<std::string, double>;

struct Reading {
  Subject subject;
  Values values;
};

class ReadingSource {
 public:
  virtual ~ReadingSource() = default;

  /// RETURNS: what there is now, each subject once; what has gone is left out.
  virtual Result<std::vector<Reading>> read() = 0;
};

}  // namespace keiko
