// The table against NVIDIA's catalogue, written down here once more and by bucket.
#include "core/health/policy/xid_table.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>

namespace keiko::health {
namespace {

struct Range {
  int32_t first;
  int32_t last;
};

void put(std::map<int32_t, Remedy>& into, Remedy remedy, std::initializer_list<Range> ranges) {
  for (const Range& range : ranges) {
    for (int32_t xid = range.first; xid <= range.last; ++xid) {
      EXPECT_TRUE(into.emplace(xid, remedy).second) << xid << " is in two buckets";
    }
  }
}

/// The catalogue's immediate actions. What is in no bucket is "not in use": the vendor's matter.
std::map<int32_t, Remedy> catalogue() {
  std::map<int32_t, Remedy> actions;
  put(actions, Remedy::kRestartApp,
      {{8, 8}, {11, 11}, {13, 13}, {25, 25}, {31, 32}, {39, 41}, {60, 60}, {68, 72}, {75, 77},
       {80, 80}, {82, 86}, {88, 89}, {94, 94}, {96, 105}, {126, 135}, {139, 139}});
  put(actions, Remedy::kReset,
      {{46, 46}, {62, 62}, {64, 64}, {95, 95}, {109, 110}, {119, 120}, {136, 136}, {140, 140},
       {143, 143}, {155, 156}, {158, 158}});
  put(actions, Remedy::kReboot, {{79, 79}, {151, 151}});
  put(actions, Remedy::kIgnore,
      {{37, 38}, {43, 44}, {63, 63}, {66, 67}, {92, 93}, {106, 107}, {121, 121}, {137, 137},
       {141, 141}, {152, 153}, {157, 157}, {160, 161}});
  put(actions, Remedy::kContactSupport, {{142, 142}});
  put(actions, Remedy::kInspect, {{54, 54}});      // check mechanicals
  put(actions, Remedy::kAskOperator, {{78, 78}});  // update software and firmware
  put(actions, Remedy::kRetest, {{159, 159}, {162, 170}});  // check UVM; no bucket yet
  return actions;
}

TEST(XidTable, has_the_catalogues_action_for_each_of_its_172_codes) {
  std::map<int32_t, Remedy> actions = catalogue();
  const std::map<int32_t, XidWorkflow> workflows{
      {48, XidWorkflow::kDoubleBit}, {171, XidWorkflow::kDoubleBit},
      {172, XidWorkflow::kDoubleBit}, {45, XidWorkflow::kFollower}, {74, XidWorkflow::kNvlink},
      {144, XidWorkflow::kNvlink5}, {145, XidWorkflow::kNvlink5}, {146, XidWorkflow::kNvlink5},
      {147, XidWorkflow::kNvlink5}, {148, XidWorkflow::kNvlink5}, {149, XidWorkflow::kNvlink5},
      {150, XidWorkflow::kNvlink5}, {154, XidWorkflow::kAdvice}};
  const std::map<int32_t, Remedy> unused_and_ignored{{14, Remedy::kIgnore}, {108, Remedy::kIgnore}};
  for (int32_t xid = 1; xid <= 172; ++xid) {
    const XidRule* rule = find_xid(xid);
    ASSERT_NE(rule, nullptr) << xid;
    EXPECT_EQ(rule->xid, xid);
    EXPECT_NE(std::string(rule->name), "") << xid;
    const auto workflow = workflows.find(xid);
    if (workflow != workflows.end()) {
      EXPECT_EQ(rule->workflow, workflow->second) << xid;
      EXPECT_FALSE(actions.contains(xid)) << xid;
      continue;
    }
    EXPECT_EQ(rule->workflow, XidWorkflow::kNone) << xid;
    const auto ignored = unused_and_ignored.find(xid);
    const auto listed = actions.find(xid);
    const Remedy right = ignored != unused_and_ignored.end() ? ignored->second
                         : listed != actions.end()           ? listed->second
                                                             : Remedy::kContactSupport;
    EXPECT_EQ(to_text(rule->remedy), to_text(right)) << xid;
    EXPECT_EQ(listed == actions.end(), std::string(rule->name) == "not in use") << xid;
  }
}

TEST(XidTable, knows_no_code_beyond_the_catalogue) {
  EXPECT_EQ(find_xid(0), nullptr);
  EXPECT_EQ(find_xid(-1), nullptr);
  EXPECT_EQ(find_xid(173), nullptr);
  EXPECT_EQ(find_xid(int64_t{1} << 40), nullptr);
}

TEST(XidTable, faults_of_programs_concern_the_slice_and_the_rest_the_device) {
  for (int32_t xid = 1; xid <= 172; ++xid) {
    const bool app = find_xid(xid)->remedy == Remedy::kRestartApp;
    EXPECT_EQ(find_xid(xid)->scope, app ? FaultScope::kSlice : FaultScope::kDevice) << xid;
  }
}

TEST(Remedies, quarantine_only_what_has_an_owner_and_an_exit) {
  for (int number = 0; number <= static_cast<int>(Remedy::kReplace); ++number) {
    const RemedyRule& rule = rule_of(static_cast<Remedy>(number));
    EXPECT_NE(rule.exits & kByOperator, 0u) << rule.name;
    EXPECT_NE(std::string(rule.asks_for), "") << rule.name;
  }
  EXPECT_EQ(exits_text(kByTimer | kByRetest | kByOperator), "timer, re-test or operator");
  EXPECT_EQ(exits_text(kByOperator), "operator");
}

}  // namespace
}  // namespace keiko::health
