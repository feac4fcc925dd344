#include "server/readings/reading_board.h"

#include <gtest/gtest.h>

#include "ports/clock_fake.h"

namespace keiko::server {
namespace {

v1::ReadingReport watts(double value) {
  v1::ReadingReport report;
  (*report.mutable_devices())["GPU-1"].set_power_watts(value);
  return report;
}

TEST(ReadingBoard, shows_the_newest_until_it_is_too_old) {
  FakeClock clock(Time{} + seconds(1000));
  ReadingBoard board(clock);
  EXPECT_FALSE(board.find(1));
  board.put(1, watts(300));
  board.put(1, watts(310));
  board.put(2, watts(99));
  clock.advance(seconds(10));
  EXPECT_EQ(board.find(1)->devices().at("GPU-1").power_watts(), 310);
  board.remove(2);
  EXPECT_FALSE(board.find(2));
  clock.advance(milliseconds(1));
  EXPECT_FALSE(board.find(1)) << "the agent's sampler hangs";
}

}  // namespace
}  // namespace keiko::server
