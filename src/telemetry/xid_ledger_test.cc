#include "telemetry/xid_ledger.h"

#include <gtest/gtest.h>

namespace keiko::telemetry {
namespace {

class XidLedgerTest : public testing::Test {
 protected:
  static constexpr XidTeller kLibrary = XidTeller::kLibrary;
  static constexpr XidTeller kKernel = XidTeller::kKernelLog;

  bool put(XidTeller teller, int64_t xid, double at_s, const std::string& uuid = "GPU-1") {
    return ledger_.put({teller, "GPU-1", uuid, xid, "XID " + std::to_string(xid),
                        Time{} + milliseconds(static_cast<int64_t>(at_s * 1000))});
  }
  int64_t count(int64_t xid, const std::string& uuid = "GPU-1") {
    const auto found = ledger_.records().find(uuid);
    return found == ledger_.records().end() || !found->second.counts.contains(xid)
               ? 0
               : found->second.counts.at(xid);
  }

  XidLedger ledger_;
};

TEST_F(XidLedgerTest, counts_what_both_tell_once_whoever_is_first) {
  EXPECT_TRUE(put(kLibrary, 31, 1));
  EXPECT_FALSE(put(kKernel, 31, 2));
  EXPECT_TRUE(put(kKernel, 94, 10));
  EXPECT_FALSE(put(kLibrary, 94, 15));
  EXPECT_EQ(count(31), 1);
  EXPECT_EQ(count(94), 1);
}

TEST_F(XidLedgerTest, counts_what_only_one_tells) {
  put(kKernel, 79, 1);
  put(kLibrary, 31, 1);
  EXPECT_EQ(count(79), 1);
  EXPECT_EQ(count(31), 1);
}

TEST_F(XidLedgerTest, counts_a_repeat_as_often_as_the_one_that_told_of_it_most) {
  for (int i = 0; i < 3; ++i) put(kLibrary, 31, 1 + i * 0.1);
  for (int i = 0; i < 2; ++i) put(kKernel, 31, 2 + i * 0.1);
  EXPECT_EQ(count(31), 3);
  put(kKernel, 31, 2.5);
  EXPECT_EQ(count(31), 3);
  put(kKernel, 31, 2.6);
  EXPECT_EQ(count(31), 4);
}

TEST_F(XidLedgerTest, takes_what_comes_much_later_for_another) {
  put(kLibrary, 31, 1);
  EXPECT_TRUE(put(kKernel, 31, 6.1));
  EXPECT_EQ(count(31), 2);
}

TEST_F(XidLedgerTest, joins_a_line_that_names_no_slice_with_the_event_that_does) {
  put(kLibrary, 43, 1, "MIG-1");
  EXPECT_FALSE(put(kKernel, 43, 1.5, "GPU-1"));
  EXPECT_EQ(count(43, "MIG-1"), 1);
  EXPECT_EQ(count(43, "GPU-1"), 0);
}

TEST_F(XidLedgerTest, remembers_the_last_one_and_its_words) {
  put(kLibrary, 31, 1);
  put(kKernel, 79, 2);
  put(kKernel, 31, 3);  // the library told of it
  EXPECT_EQ(ledger_.records().at("GPU-1").last, 79);
  EXPECT_EQ(ledger_.records().at("GPU-1").last_text, "XID 79");
}

}  // namespace
}  // namespace keiko::telemetry
