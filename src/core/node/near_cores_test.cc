#include "core/node/near_cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace keiko::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Device gpu(int32_t index, int32_t numa) {
  Device device;
  device.uuid = "GPU-" + std::to_string(index);
  device.kind = "h100";
  device.vendor = "nvidia";
  device.index = index;
  device.numa_node = numa;
  return device;
}

/// Two sockets of eight cores with two threads each, and four GPUs on each.
NodeSpec two_sockets() {
  NodeSpec node;
  node.host.emplace();
  node.host->numa = {{0, 0, "0-7,16-23", gibibytes(64), "0-7 16-23"},
                     {1, 1, "8-15,24-31", gibibytes(64), "8-15 24-31"}};
  for (int32_t i = 0; i < 8; ++i) node.devices.push_back(gpu(i, i / 4));
  return node;
}

std::vector<int32_t> first_threads(int32_t count) {
  std::vector<int32_t> threads(static_cast<size_t>(count));
  std::iota(threads.begin(), threads.end(), 0);
  return threads;
}

WorkerLaunch with(const NodeSpec& node, const std::vector<size_t>& devices, int64_t cpu_milli = 0) {
  WorkerLaunch launch;
  launch.cpu_milli = cpu_milli;
  for (const size_t index : devices) launch.devices.push_back(node.devices[index]);
  return launch;
}

std::vector<int32_t> cores(const NodeSpec& node, const std::vector<size_t>& devices,
                           int64_t cpu_milli = 0, const std::set<int32_t>& taken = {}) {
  return near_cores(node, first_threads(32), with(node, devices, cpu_milli), taken);
}

TEST(NearCores, are_a_fair_share_of_the_devices_own_socket) {
  const NodeSpec node = two_sockets();
  EXPECT_THAT(cores(node, {1}), ElementsAre(2, 3, 18, 19)) << "both threads of two cores";
  EXPECT_THAT(cores(node, {1, 2}), ElementsAre(2, 3, 4, 5, 18, 19, 20, 21));
  EXPECT_THAT(cores(node, {7}), ElementsAre(14, 15, 30, 31));
}

TEST(NearCores, of_workers_with_a_device_each_never_overlap_and_leave_none_out) {
  const NodeSpec node = two_sockets();
  std::set<int32_t> all;
  for (size_t device = 0; device < 8; ++device) {
    for (const int32_t core : cores(node, {device}, 1000, all)) {
      EXPECT_TRUE(all.insert(core).second) << core << " was given twice";
    }
  }
  EXPECT_THAT(all, SizeIs(32));
}

// Complaint 14: four free GPUs over two sockets, and the job that wants four is accepted, refused
// at its start, and tried again for ever. Here it starts, with cores of both sockets.
TEST(NearCores, of_devices_on_two_sockets_are_of_both) {
  const NodeSpec node = two_sockets();
  EXPECT_THAT(cores(node, {2, 3, 4, 5}), ElementsAre(4, 5, 6, 7, 8, 9, 10, 11, 20, 21, 22, 23, 24,
                                                     25, 26, 27));
}

TEST(NearCores, are_as_many_as_the_worker_asks_for_and_first_of_all_those_that_nobody_has) {
  const NodeSpec node = two_sockets();
  const std::set<int32_t> taken{0, 1, 16, 17};  // by the worker of GPU 0
  EXPECT_THAT(cores(node, {1}, 7001, taken), ElementsAre(2, 3, 4, 5, 18, 19, 20, 21));
  EXPECT_THAT(cores(node, {1}, 4000, {2, 18}), ElementsAre(0, 3, 16, 19))
      << "a core of its own share is taken, and another is free";
}

TEST(NearCores, are_shared_where_there_are_too_few) {
  const NodeSpec node = two_sockets();
  const std::vector<int32_t> all = cores(node, {0}, 16'000);
  EXPECT_THAT(all, SizeIs(16)) << "the whole socket";
  const std::set<int32_t> taken(all.begin(), all.end());
  EXPECT_THAT(cores(node, {1}, 0, taken), ElementsAre(2, 3, 18, 19)) << "its own share";
}

TEST(NearCores, are_those_that_the_agent_itself_may_use) {
  const NodeSpec node = two_sockets();
  const std::vector<int32_t> usable{1, 2, 3, 4, 17, 18, 19, 20, 8, 9, 10, 11};
  EXPECT_THAT(near_cores(node, usable, with(node, {0}), {}), ElementsAre(1, 17));
  EXPECT_THAT(near_cores(node, usable, with(node, {7}), {}), ElementsAre(11));
  EXPECT_THAT(near_cores(node, {0, 1, 2, 3}, with(node, {0}), {}), IsEmpty())
      << "of one socket alone, all are equally near";
}

TEST(NearCores, are_shared_by_devices_that_are_more_than_the_cores) {
  NodeSpec node = two_sockets();
  node.host->numa = {{0, 0, "0-1", {}, {}}, {1, 1, "2-3", {}, {}}};
  EXPECT_THAT(near_cores(node, first_threads(4), with(node, {0}), {}), ElementsAre(0));
  EXPECT_THAT(near_cores(node, first_threads(4), with(node, {1}), {}), ElementsAre(0));
  EXPECT_THAT(near_cores(node, first_threads(4), with(node, {2, 3}), {}), ElementsAre(1));
}

TEST(NearCores, take_all_threads_of_a_core_where_cores_differ) {
  NodeSpec node = two_sockets();
  node.devices = {gpu(0, 0), gpu(1, 0)};
  // Two cores of two threads, four of one.
  node.host->numa = {{0, 0, "0-7", {}, "0,2,4-7 1,3"}, {1, 1, "8-15", {}, {}}};
  EXPECT_THAT(near_cores(node, first_threads(16), with(node, {0}), {}), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(near_cores(node, first_threads(16), with(node, {1}), {}), ElementsAre(5, 6, 7));
}

TEST(NearCores, go_by_the_slot_where_the_device_itself_knows_no_numa_node) {
  NodeSpec node = two_sockets();
  node.devices[0].numa_node = -1;
  node.devices[0].pci_address = "0000:11:00.0";
  node.host->slots = {{"pci0000:10/0000:10:01.0/0000:11:00.0", 1}};
  const std::vector<int32_t> found = cores(node, {0});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front(), 8) << "of the second socket";
}

TEST(NearCores, are_none_where_nothing_is_known_or_nothing_is_nearer) {
  const NodeSpec node = two_sockets();
  EXPECT_THAT(cores(node, {}), IsEmpty()) << "no devices";
  EXPECT_THAT(cores(node, {0}, 17'000), IsEmpty()) << "it asks for more than is near";

  NodeSpec unknown = node;
  unknown.devices[1].numa_node = -1;
  EXPECT_THAT(cores(unknown, {0, 1}), IsEmpty()) << "one of its devices has no known place";
  unknown.devices[1].numa_node = 7;
  EXPECT_THAT(cores(unknown, {1}), IsEmpty()) << "no such NUMA node";

  NodeSpec memory_alone = node;
  memory_alone.host->numa.push_back({2, -1, "", gibibytes(96), {}});
  memory_alone.devices[0].numa_node = 2;
  EXPECT_THAT(cores(memory_alone, {0}), IsEmpty()) << "a NUMA node without cores";

  NodeSpec one_node = node;
  one_node.host->numa.resize(1);
  EXPECT_THAT(cores(one_node, {0}), IsEmpty()) << "all cores are equally near";

  NodeSpec hostless = node;
  hostless.host.reset();
  EXPECT_THAT(cores(hostless, {0}), IsEmpty());

  NodeSpec slots = node;
  for (Device& device : slots.devices) device.vendor = device.kind = "cpu";
  EXPECT_THAT(cores(slots, {0}), IsEmpty()) << "cpu slots have cores of their own";
}

}  // namespace
}  // namespace keiko::node
