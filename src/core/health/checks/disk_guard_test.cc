// A disk that fills up stops new work before it stops running work, and does not flap.
#include "core/health/checks/disk_guard.h"

#include <gtest/gtest.h>

namespace keiko::health {
namespace {

constexpr Bytes kFloor = mebibytes(64);

DiskRoom room(int64_t left_mib) { return {mebibytes(left_mib), gibibytes(100)}; }

TEST(DiskGuard, is_low_below_the_floor) {
  EXPECT_FALSE(is_disk_low(room(64), kFloor, false));
  EXPECT_TRUE(is_disk_low(room(63), kFloor, false));
  EXPECT_TRUE(is_disk_low(room(0), kFloor, false));
}

TEST(DiskGuard, stays_low_until_there_is_half_as_much_again) {
  EXPECT_TRUE(is_disk_low(room(64), kFloor, true));
  EXPECT_TRUE(is_disk_low(room(95), kFloor, true));
  EXPECT_FALSE(is_disk_low(room(96), kFloor, true));
}

TEST(DiskGuard, knows_no_floor_of_a_small_disk_or_where_none_is_wanted) {
  EXPECT_FALSE(is_disk_low({Bytes{0}, mebibytes(1023)}, kFloor, false));
  EXPECT_TRUE(is_disk_low({Bytes{0}, mebibytes(1024)}, kFloor, false));
  EXPECT_FALSE(is_disk_low({Bytes{0}, gibibytes(100)}, Bytes{}, true));
}

TEST(DiskGuard, says_how_much_is_missing_where) {
  const std::string text = low_disk_text(room(12), kFloor, "/var/lib/keiko");
  for (const char* part : {"12MiB", "100GiB", "/var/lib/keiko", "64MiB", "make room"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace keiko::health
