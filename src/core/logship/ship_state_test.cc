#include "core/logship/ship_state.h"

#include <gtest/gtest.h>

#include <set>

namespace keiko::logship {
namespace {

const LogName kOut{{JobId{1}, 1, 0}, LogStream::kOut};
const LogName kErr{{JobId{1}, 1, 0}, LogStream::kErr};

LogReceipt wrote(const LogName& name, int64_t written) {
  LogReceipt receipt;
  receipt.name = name;
  receipt.written = written;
  return receipt;
}

/// A state over an open call with one stream, of which the server has `written` bytes.
ShipState moving(int64_t size, int64_t written = 0, const ShipOptions& options = {}) {
  ShipState state(options);
  state.set_size(kOut, size, false);
  state.set_open(true);
  EXPECT_EQ(state.next()->count, 0);
  state.take(wrote(kOut, written));
  return state;
}

TEST(ShipState, sends_nothing_without_a_call) {
  ShipState state;
  state.set_size(kOut, 100, false);
  EXPECT_FALSE(state.next());
}

TEST(ShipState, asks_before_it_sends_and_goes_on_where_the_server_is) {
  ShipState state = moving(100, 40);
  const auto order = state.next();
  ASSERT_TRUE(order);
  EXPECT_EQ(order->offset, 40);
  EXPECT_EQ(order->count, 60);
  EXPECT_FALSE(order->ended);
  EXPECT_FALSE(state.next());
}

TEST(ShipState, a_lost_call_starts_with_a_question_again) {
  ShipState state = moving(100);
  EXPECT_EQ(state.next()->count, 100);
  state.set_open(false);
  EXPECT_FALSE(state.next());
  EXPECT_EQ(state.in_flight(), 0);
  state.set_open(true);
  EXPECT_EQ(state.next()->count, 0);
  state.take(wrote(kOut, 30));
  EXPECT_EQ(state.next()->offset, 30);
}

TEST(ShipState, keeps_what_is_on_the_way_within_the_stream_s_window) {
  ShipState state = moving(100, 0, {10, 30, 1000});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(state.next()->count, 10);
  EXPECT_FALSE(state.next());
  state.take(wrote(kOut, 10));
  EXPECT_EQ(state.next()->offset, 30);
  EXPECT_FALSE(state.next());
}

TEST(ShipState, streams_take_turns_within_the_window_of_all) {
  ShipState state({10, 30, 40});
  state.set_size(kOut, 1000, false);
  state.set_size(kErr, 1000, false);
  state.set_open(true);
  EXPECT_TRUE(state.next());
  EXPECT_TRUE(state.next());
  state.take(wrote(kOut, 0));
  state.take(wrote(kErr, 0));
  std::multiset<LogName> turns;
  while (const auto order = state.next()) turns.insert(order->name);
  EXPECT_EQ(turns.count(kOut), 2u);
  EXPECT_EQ(turns.count(kErr), 2u);
  EXPECT_EQ(state.in_flight(), 40);
}

TEST(ShipState, a_part_of_a_chunk_waits_while_another_is_on_the_way) {
  ShipState state = moving(5, 0, {10, 30, 40});
  EXPECT_EQ(state.next()->count, 5);
  state.set_size(kOut, 9, false);
  EXPECT_FALSE(state.next());
  state.take(wrote(kOut, 5));
  EXPECT_EQ(state.next()->count, 4);
}

TEST(ShipState, the_end_does_not_wait_and_comes_once) {
  ShipState state = moving(5, 0, {10, 30, 40});
  EXPECT_TRUE(state.next());
  state.set_size(kOut, 8, true);
  const auto order = state.next();
  ASSERT_TRUE(order);
  EXPECT_EQ(order->count, 3);
  EXPECT_TRUE(order->ended);
  EXPECT_FALSE(state.next());
}

TEST(ShipState, an_empty_stream_ends_too) {
  ShipState state = moving(0);
  EXPECT_FALSE(state.next());
  state.set_size(kOut, 0, true);
  const auto order = state.next();
  ASSERT_TRUE(order);
  EXPECT_EQ(order->count, 0);
  EXPECT_TRUE(order->ended);
}

TEST(ShipState, a_complete_stream_is_named_once_and_forgotten) {
  ShipState state = moving(5);
  state.set_size(kOut, 5, true);
  EXPECT_TRUE(state.next());
  LogReceipt receipt = wrote(kOut, 5);
  state.take(receipt);
  EXPECT_TRUE(state.knows(kOut));
  receipt.complete = true;
  state.take(receipt);
  EXPECT_EQ(state.take_complete(), std::vector{kOut});
  EXPECT_TRUE(state.take_complete().empty());
  EXPECT_TRUE(state.empty());
  EXPECT_EQ(state.in_flight(), 0);
}

TEST(ShipState, goes_back_to_where_the_server_says) {
  ShipState state = moving(100, 0, {10, 100, 100});
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(state.next());
  LogReceipt receipt = wrote(kOut, 10);
  receipt.rewind = true;
  state.take(receipt);
  EXPECT_EQ(state.next()->offset, 10);
}

TEST(ShipState, a_server_without_room_gets_one_question_at_a_time) {
  ShipState state = moving(100);
  EXPECT_TRUE(state.next());
  LogReceipt receipt = wrote(kOut, 0);
  receipt.rewind = true;
  receipt.paused = "the disk is full";
  state.take(receipt);
  EXPECT_EQ(state.paused(), "the disk is full");
  EXPECT_FALSE(state.next());
  state.try_again();
  EXPECT_EQ(state.next()->count, 0);
  EXPECT_FALSE(state.next());
  state.take(receipt);
  EXPECT_FALSE(state.next());
  state.try_again();
  EXPECT_TRUE(state.next());
  state.take(wrote(kOut, 0));
  EXPECT_EQ(state.paused(), "");
  EXPECT_EQ(state.next()->count, 100);
}

TEST(ShipState, what_nobody_wants_is_not_sent) {
  ShipState state = moving(100);
  LogReceipt receipt = wrote(kOut, 0);
  receipt.unwanted = true;
  state.take(receipt);
  EXPECT_FALSE(state.next());
  EXPECT_FALSE(state.knows(kOut));
  EXPECT_TRUE(state.take_complete().empty()) << "it may come to be wanted until it ends";
  state.set_size(kOut, 100, true);
  EXPECT_TRUE(state.next());
  state.take(receipt);
  EXPECT_EQ(state.take_complete(), std::vector{kOut}) << "so the node need not keep it";
}

TEST(ShipState, a_stream_that_the_server_ended_before_its_program_did_is_not_sent_on) {
  ShipState state = moving(100);
  LogReceipt receipt = wrote(kOut, 0);
  receipt.complete = true;
  state.take(receipt);
  EXPECT_FALSE(state.next());
  EXPECT_TRUE(state.take_complete().empty()) << "its worker still writes";
  state.set_size(kOut, 200, true);
  EXPECT_EQ(state.next()->count, 0) << "asked once more at its end";
  state.take(receipt);
  EXPECT_EQ(state.take_complete(), std::vector{kOut});
}

TEST(Accept, takes_only_what_is_new_and_leaves_no_gap) {
  const LogShipment at_seven{kOut, 7, "0123456789", true};
  EXPECT_TRUE(accept(6, at_seven).gap);
  EXPECT_EQ(accept(7, at_seven).skip, 0u);
  EXPECT_EQ(accept(9, at_seven).skip, 2u);
  EXPECT_EQ(accept(17, at_seven).skip, 10u);
  EXPECT_EQ(accept(99, at_seven).skip, 10u);
  EXPECT_TRUE(accept(9, at_seven).ends);
}

}  // namespace
}  // namespace keiko::logship
