// The policy for NVIDIA's XIDs, as data: one row for each of the catalogue's 172 codes.
//
// The remedies are those of NVIDIA's catalogue ("immediate action"); what it calls a workflow is
// worked out by core/health/policy/fault.h from all XIDs of an incident. XID 154 is the driver's
// own advice: where an incident has one, it is obeyed and the table is not.
#pragma once

#include <cstdint>

#include "core/health/policy/remedy.h"

namespace keiko::health {

enum class XidWorkflow : int {
  kNone = 0,
  kDoubleBit = 1,   ///< 48: with 63, 64, 94 or 95
  kFollower = 2,    ///< 45: means something only where no other XID is near
  kNvlink = 3,      ///< 74
  kNvlink5 = 4,     ///< 144 to 150: the line says if it is fatal
  kAdvice = 5,      ///< 154
};

/// Who is affected.
enum class FaultScope : int {
  kSlice = 0,   ///< the MIG slice that the line names; all of the device if it names none
  kDevice = 1,  ///< the device and all of its MIG slices
  kNode = 2,
};
std::string to_text(FaultScope scope);

struct XidRule {
  int32_t xid;
  Remedy remedy;       ///< of a workflow: where nothing else is known
  FaultScope scope;
  XidWorkflow workflow;
  const char* name;    ///< a few words for people
};

inline constexpr int32_t kXidCount = 172;

/// RETURNS: the row, or nullptr for a number that the catalogue does not have.
const XidRule* find_xid(int64_t xid);

}  // namespace keiko::health
