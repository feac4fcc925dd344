// What every Checks must do. A test program instantiates the suite with a harness:
//
//   struct FakeHarness {
//     Checks& checks();
//     std::vector<Device> devices();            // at least two, healthy
//     void lose(const std::string& uuid);       // takes a device away
//     void get_stuck();                         // from now on a run would take a minute
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(Fake, ChecksConformance, FakeHarness);
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>

#include "ports/checks.h"

namespace keiko {

template <class Harness>
class ChecksConformance : public testing::Test {
 protected:
  std::vector<CheckOutcome> run(CheckKind kind, bool machine = false) {
    CheckOrder order;
    order.kind = kind;
    order.machine = machine;
    order.devices = harness_.devices();
    return harness_.checks().run(order, stop_.get_token());
  }
  static std::set<std::string> subjects(const std::vector<CheckOutcome>& outcomes) {
    std::set<std::string> uuids;
    for (const CheckOutcome& one : outcomes) uuids.insert(one.uuid);
    return uuids;
  }
  std::set<std::string> ordered() {
    std::set<std::string> uuids;
    for (const Device& device : harness_.devices()) uuids.insert(device.uuid);
    return uuids;
  }

  Harness harness_;
  std::stop_source stop_;
};
TYPED_TEST_SUITE_P(ChecksConformance);

TYPED_TEST_P(ChecksConformance, says_something_of_each_device_and_of_nothing_else) {
  for (const CheckKind kind : {CheckKind::kPreflight, CheckKind::kRetest}) {
    EXPECT_EQ(this->subjects(this->run(kind)), this->ordered());
  }
}

TYPED_TEST_P(ChecksConformance, checks_the_machine_where_that_is_ordered) {
  std::set<std::string> all = this->ordered();
  all.insert("");
  EXPECT_EQ(this->subjects(this->run(CheckKind::kPreflight, true)), all);
}

TYPED_TEST_P(ChecksConformance, finds_nothing_wrong_with_what_is_well_and_gives_its_reasons) {
  for (const CheckOutcome& one : this->run(CheckKind::kRetest, true)) {
    EXPECT_TRUE(one.verdict == CheckVerdict::kOk || one.verdict == CheckVerdict::kNotCovered)
        << one.check << ": " << one.text;
    EXPECT_FALSE(one.text.empty()) << one.check;
  }
}

TYPED_TEST_P(ChecksConformance, finds_that_a_device_is_gone) {
  const std::string lost = this->harness_.devices().at(0).uuid;
  const std::string other = this->harness_.devices().at(1).uuid;
  const auto order = this->harness_.devices();
  this->harness_.lose(lost);
  CheckOrder both;
  both.kind = CheckKind::kRetest;
  both.devices = order;
  const auto outcomes = this->harness_.checks().run(both, this->stop_.get_token());
  const auto is_crit = [&](const std::string& uuid) {
    return std::any_of(outcomes.begin(), outcomes.end(), [&](const CheckOutcome& one) {
      return one.uuid == uuid && one.verdict == CheckVerdict::kCrit;
    });
  };
  EXPECT_TRUE(is_crit(lost));
  EXPECT_FALSE(is_crit(other));
}

TYPED_TEST_P(ChecksConformance, ends_soon_when_it_is_stopped_and_claims_no_success) {
  this->harness_.get_stuck();
  std::thread stopper([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    this->stop_.request_stop();
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto outcomes = this->run(CheckKind::kRetest);
  stopper.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_TRUE(std::any_of(outcomes.begin(), outcomes.end(), [](const CheckOutcome& one) {
    return one.verdict == CheckVerdict::kUnknown;
  }));
}

REGISTER_TYPED_TEST_SUITE_P(ChecksConformance,
                            says_something_of_each_device_and_of_nothing_else,
                            checks_the_machine_where_that_is_ordered,
                            finds_nothing_wrong_with_what_is_well_and_gives_its_reasons,
                            finds_that_a_device_is_gone,
                            ends_soon_when_it_is_stopped_and_claims_no_success);

}  // namespace keiko
