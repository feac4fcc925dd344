// What every Devices must do, whatever hardware it speaks for. A test program instantiates the
// suite with a factory; each call of it stands for an agent that starts on the same machine:
//
//   INSTANTIATE_TEST_SUITE_P(Fake, DevicesConformance, testing::Values(&make_fake));
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "model/validate.h"
#include "ports/devices.h"

namespace keiko {

using DevicesFactory = std::unique_ptr<Devices> (*)();

class DevicesConformance : public testing::TestWithParam<DevicesFactory> {
 protected:
  void SetUp() override {
    devices_ = GetParam()();
    inventory_ = MUST(devices_->fingerprint());
    for (const Device& device : inventory_.devices) uuids_.push_back(device.uuid);
  }

  std::unique_ptr<Devices> devices_;
  Inventory inventory_;
  std::vector<std::string> uuids_;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DevicesConformance);

TEST_P(DevicesConformance, numbers_its_devices_from_zero_and_names_each_once) {
  std::set<std::string> names;
  for (size_t i = 0; i < inventory_.devices.size(); ++i) {
    const Device& device = inventory_.devices[i];
    EXPECT_EQ(device.index, static_cast<int32_t>(i));
    EXPECT_FALSE(device.uuid.empty());
    EXPECT_FALSE(device.kind.empty());
    EXPECT_FALSE(device.vendor.empty());
    EXPECT_GT(device.memory.count, 0);
    names.insert(device.uuid);
  }
  EXPECT_EQ(names.size(), inventory_.devices.size());
}

TEST_P(DevicesConformance, links_only_devices_that_are_there_and_each_pair_once) {
  std::set<std::pair<int32_t, int32_t>> pairs;
  for (const Link& link : inventory_.links) {
    EXPECT_GE(link.first, 0);
    EXPECT_LT(link.first, link.second);
    EXPECT_LT(link.second, static_cast<int32_t>(inventory_.devices.size()));
    EXPECT_TRUE(pairs.emplace(link.first, link.second).second);
  }
}

TEST_P(DevicesConformance, finds_the_same_after_a_restart) {
  const Inventory again = MUST(GetParam()()->fingerprint());
  EXPECT_EQ(again.devices, inventory_.devices);
  EXPECT_EQ(again.links, inventory_.links);
}

TEST_P(DevicesConformance, makes_devices_visible_by_variables_that_no_job_may_set) {
  for (const auto& [name, value] : MUST(devices_->visibility(uuids_))) {
    EXPECT_EQ(reserved(name), Reserved::kDevices) << name << "=" << value;
  }
}

TEST_P(DevicesConformance, makes_devices_visible_in_index_order_however_asked) {
  std::vector<std::string> reversed = uuids_;
  std::reverse(reversed.begin(), reversed.end());
  const auto environment = MUST(devices_->visibility(reversed));
  EXPECT_EQ(environment, MUST(devices_->visibility(uuids_)));
  for (const auto& [name, value] : environment) EXPECT_FALSE(name.empty());
}

TEST_P(DevicesConformance, hides_all_devices_from_a_worker_that_got_none) {
  const auto all = MUST(devices_->visibility(uuids_));
  const auto none = MUST(devices_->visibility({}));
  for (const auto& [name, value] : all) EXPECT_EQ(none.count(name), 1u) << name;
  if (!uuids_.empty()) {
    EXPECT_NE(all, none);
  }
}

TEST_P(DevicesConformance, names_a_device_that_is_not_here) {
  const auto refused = devices_->visibility({"no-such-device"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kNotFound);
  EXPECT_NE(refused.error().message.find("no-such-device"), std::string::npos);
  EXPECT_EQ(devices_->processes("no-such-device").error().code, Code::kNotFound);
}

TEST_P(DevicesConformance, reads_every_device_in_order) {
  for (int i = 0; i < 2; ++i) {
    std::vector<std::string> read;
    for (const DeviceStats& stats : MUST(devices_->stats())) read.push_back(stats.uuid);
    EXPECT_EQ(read, uuids_);
  }
}

TEST_P(DevicesConformance, names_each_process_of_a_device_once_or_says_that_it_cannot) {
  for (const std::string& uuid : uuids_) {
    const auto processes = devices_->processes(uuid);
    if (!processes.ok()) {
      EXPECT_EQ(processes.error().code, Code::kUnimplemented) << processes.error().text();
      continue;
    }
    int64_t last = 0;
    for (const DeviceProcess& process : *processes) {
      EXPECT_TRUE(!process.busy || (*process.busy >= 0 && *process.busy <= 1)) << *process.busy;
      EXPECT_GT(process.pid, last) << "by pid, each once";
      last = process.pid;
    }
  }
}

TEST_P(DevicesConformance, tells_each_fault_once) {
  ASSERT_TRUE(devices_->faults().ok());
  EXPECT_TRUE(MUST(devices_->faults()).empty()) << "nothing went wrong in between";
}

}  // namespace keiko
