// What every Host must do, whatever machine it is on. A test program instantiates the suite with a
// factory; each call of it stands for an agent that starts on the same machine:
//
//   INSTANTIATE_TEST_SUITE_P(Fake, HostConformance, testing::Values(&make_fake));
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "model/pci_path.h"
#include "ports/host.h"

namespace keiko {

using HostFactory = std::unique_ptr<Host> (*)();

class HostConformance : public testing::TestWithParam<HostFactory> {
 protected:
  void SetUp() override {
    host_ = GetParam()();
    spec_ = MUST(host_->fingerprint());
  }

  std::unique_ptr<Host> host_;
  HostSpec spec_;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(HostConformance);

TEST_P(HostConformance, has_numa_nodes_by_index_with_memory_or_cores) {
  int32_t last = -1;
  for (const NumaNode& node : spec_.numa) {
    EXPECT_GT(node.index, last);
    last = node.index;
    EXPECT_TRUE(node.memory.count > 0 || !node.cores.empty()) << "NUMA node " << node.index;
    EXPECT_GE(node.memory.count, 0);
    EXPECT_EQ(node.cores.find_first_not_of("0123456789,-"), std::string::npos) << node.cores;
  }
}

TEST_P(HostConformance, names_each_nic_once) {
  std::set<std::string> names;
  for (const Nic& nic : spec_.nics) {
    EXPECT_FALSE(nic.name.empty());
    EXPECT_TRUE(names.insert(nic.name).second) << nic.name;
    EXPECT_NE(nic.name, "lo");
    EXPECT_GE(nic.megabits_per_s, 0) << nic.name;
  }
}

TEST_P(HostConformance, puts_bonds_last_and_joins_only_interfaces_that_are_there) {
  std::set<std::string> interfaces;
  bool bonds = false;
  for (const Nic& nic : spec_.nics) {
    if (nic.members.empty()) {
      EXPECT_FALSE(bonds) << nic.name << " stands behind a bond";
      interfaces.insert(nic.interface);
      continue;
    }
    bonds = true;
    for (const std::string& member : nic.members) {
      EXPECT_EQ(interfaces.count(member), 1u) << nic.name << " joins " << member;
    }
  }
}

TEST_P(HostConformance, gives_a_slot_to_every_nic_on_the_bus_and_each_slot_once) {
  std::set<std::string> addresses;
  for (const PciSlot& slot : spec_.slots) {
    const std::string address = parse_pci_path(slot.path).address();
    EXPECT_FALSE(address.empty()) << slot.path;
    EXPECT_TRUE(addresses.insert(address).second) << slot.path;
  }
  for (const Nic& nic : spec_.nics) {
    if (nic.pci_address.empty()) continue;
    EXPECT_EQ(addresses.count(nic.pci_address), 1u) << nic.name;
  }
}

TEST_P(HostConformance, finds_the_same_after_a_restart) {
  EXPECT_EQ(MUST(GetParam()()->fingerprint()), spec_);
}

}  // namespace keiko
