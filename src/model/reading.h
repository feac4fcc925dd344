// Readings: the present numbers of a machine and its parts, for telemetry. They are observations:
// no decision that is journaled rests on them.
#pragma once

#include <map>
#include <string>

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

/// Numbers by name: "memory_used_bytes", "cpu_user_seconds". What cannot be told is absent.
using Values = std::map<std::string, double>;

struct Reading {
  Subject subject;
  Values values;

  friend bool operator==(const Reading&, const Reading&) = default;
};

}  // namespace keiko
