// Which cores workers are bound to on the recorded machines.
#include "core/node/near_cores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "recorded_nodes.h"

namespace keiko::node {
namespace {

std::vector<int32_t> all_threads() {
  std::vector<int32_t> threads(64);
  std::iota(threads.begin(), threads.end(), 0);
  return threads;
}

std::vector<int32_t> cores(const NodeSpec& spec, const std::vector<size_t>& devices,
                           const std::set<int32_t>& taken = {}) {
  WorkerLaunch launch;
  for (const size_t index : devices) launch.devices.push_back(spec.devices.at(index));
  return near_cores(spec, all_threads(), launch, taken);
}

void expect_fair_shares(const NodeSpec& spec) {
  ASSERT_EQ(spec.devices.size(), 8u);
  std::set<int32_t> all;
  for (size_t device = 0; device < 8; ++device) {
    const std::vector<int32_t> share = cores(spec, {device}, all);
    EXPECT_EQ(share.size(), 8u) << "four cores of two threads each";
    const std::string& beside = spec.host->numa.at(device / 4).cores;
    const std::vector<int32_t> socket = parse_number_list(beside);
    for (const int32_t thread : share) {
      EXPECT_TRUE(all.insert(thread).second) << thread << " was given twice";
      EXPECT_NE(std::find(socket.begin(), socket.end(), thread), socket.end())
          << thread << " is none of " << beside;
    }
    for (const int32_t thread : share) {
      const int32_t sibling = thread < 32 ? thread + 32 : thread - 32;
      EXPECT_NE(std::find(share.begin(), share.end(), sibling), share.end())
          << "the other thread of its core goes with " << thread;
    }
  }
  EXPECT_EQ(all.size(), 64u);
}

TEST(NearCoresOfMachines, of_eight_mi300x_are_four_of_the_socket_for_each) {
  expect_fair_shares(mi300x());
}

TEST(NearCoresOfMachines, of_eight_h100_are_four_of_the_socket_for_each) {
  expect_fair_shares(h100());
}

// Complaint 14: four GPUs are free, two on each socket; the job that wants four gets both sockets.
TEST(NearCoresOfMachines, of_free_gpus_on_two_sockets_are_of_both) {
  const NodeSpec spec = h100();
  const std::vector<int32_t> both = parse_number_list("8-15,16-23,40-47,48-55");
  EXPECT_EQ(cores(spec, {2, 3, 4, 5}), both);
}

TEST(NearCoresOfMachines, are_none_where_the_agent_knows_nothing_of_the_host) {
  FakeNvml library("a100x4_pcie");
  NvmlDevices devices(library.options());
  NodeSpec spec = node_of("a100", devices);
  EXPECT_TRUE(cores(spec, {0}).empty());
}

}  // namespace
}  // namespace keiko::node
