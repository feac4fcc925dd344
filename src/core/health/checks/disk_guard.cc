#include "core/health/checks/disk_guard.h"

#include "base/text.h"

namespace keiko::health {
namespace {

constexpr int64_t kSmallDiskFactor = 16;

}  // namespace

bool is_disk_low(const DiskRoom& room, Bytes floor, bool was_low) {
  if (floor.count <= 0 || room.total.count / kSmallDiskFactor < floor.count) return false;
  const int64_t least = was_low ? floor.count + floor.count / 2 : floor.count;
  return room.left.count < least;
}

std::string low_disk_text(const DiskRoom& room, Bytes floor, const std::string& place) {
  return to_text(room.left) + " of " + to_text(room.total) + " are free at " + place +
         ", less than " + to_text(floor) + "; make room there";
}

}  // namespace keiko::health
