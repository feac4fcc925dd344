// What `keiko topology` draws of the recorded machines and of the fake library's: each machine goes
// through the real drivers into a node, and the verb's output is held against a picture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/prng.h"
#include "cli/exit_code.h"
#include "cli/fake_client.h"
#include "drivers/devices/cpu/cpu_devices.h"
#include "recorded_nodes.h"

namespace keiko::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

NodeSpec laptop() {
  const RecordedMachine machine("laptop");
  HwlocHost host(machine.root());
  CpuDevicesOptions options;
  options.count = 4;
  options.memory = gibibytes(2);
  CpuDevices devices(options);
  NodeSpec node = node_of("laptop", devices);
  node.host = MUST(host.fingerprint());
  return node;
}

/// A machine of the fake library whose agent tells nothing of its host.
NodeSpec of_library(const std::string& shape) {
  FakeNvml library(shape);
  NvmlDevices devices(library.options());
  return node_of(shape.substr(0, shape.find('_')), devices);
}

v1::Node answer_of(const NodeSpec& spec) {
  v1::NodeSpec from = to_proto(spec);
  v1::Node node;
  node.set_name(spec.name);
  *node.mutable_devices() = std::move(*from.mutable_devices());
  *node.mutable_links() = std::move(*from.mutable_links());
  *node.mutable_labels() = std::move(*from.mutable_labels());
  if (from.has_host()) *node.mutable_host() = std::move(*from.mutable_host());
  return node;
}

/// RETURNS: the picture in the repository; with KEIKO_UPDATE set it is written first.
std::string picture(const std::string& name, const std::string& drawn) {
  const std::string path = std::string(KEIKO_PICTURES) + "/" + name + ".txt";
  if (std::getenv("KEIKO_UPDATE") != nullptr) std::ofstream(path, std::ios::binary) << drawn;
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string drawn(const NodeSpec& spec, int width = 0) {
  FakeWorld world;
  world.server.nodes = {answer_of(spec)};
  world.terminal.console.terminal = width > 0;
  world.terminal.console.size = [width] { return ScreenSize{width, 24}; };
  EXPECT_EQ(world.run({"topology", spec.name}), 0) << world.err();
  return world.out();
}

void expect_within(const std::string& text, size_t width) {
  for (const std::string& line : split(text, '\n')) {
    EXPECT_LE(display_width(line), width) << line;
  }
}

TEST(TopologyPicture, of_eight_mi300x_joined_by_xgmi_with_a_nic_beside_each) {
  const std::string page = drawn(mi300x());
  EXPECT_EQ(page, picture("mi300x_8", page));
}

TEST(TopologyPicture, of_eight_h100_with_eleven_infiniband_devices_and_a_bond) {
  const std::string page = drawn(h100());
  EXPECT_EQ(page, picture("h100_ib", page));
}

TEST(TopologyPicture, goes_on_below_where_the_terminal_is_narrow) {
  const std::string page = drawn(h100(), 80);
  EXPECT_EQ(page, picture("h100_ib_80_columns", page));
  expect_within(page, 80);
  for (const int width : {40, 60, 132}) {
    expect_within(drawn(h100(), width), static_cast<size_t>(width));
  }
}

TEST(TopologyPicture, of_a_laptop_has_no_matrix) {
  const std::string page = drawn(laptop());
  EXPECT_EQ(page, picture("laptop", page));
  EXPECT_THAT(page, Not(HasSubstr("SYS")));
}

TEST(TopologyPicture, of_machines_whose_agents_tell_nothing_of_the_host) {
  for (const char* const shape : {"a100x4_pcie", "rtx4090x2_workstation", "a100_mig"}) {
    const std::string page = drawn(of_library(shape));
    EXPECT_EQ(page, picture(shape, page)) << shape;
  }
}

TEST(TopologyPicture, of_cpu_slots_with_links_shows_them) {
  CpuDevicesOptions options;
  options.count = 4;
  options.memory = gibibytes(1);
  options.links = "0-1:nvlink:50000,2-3:xgmi:20000";
  CpuDevices devices(options);
  const std::string page = drawn(node_of("slots", devices));
  EXPECT_EQ(page, picture("cpu_slots_with_links", page));
}

TEST(Topology, without_a_node_has_a_line_for_each_and_says_how_to_see_one) {
  FakeWorld world;
  world.server.nodes = {answer_of(mi300x()), answer_of(h100()), answer_of(laptop())};
  EXPECT_EQ(world.run({"topology"}), 0) << world.err();
  EXPECT_EQ(world.out(), picture("all", world.out()));
  EXPECT_EQ(world.err(), "tree and matrix of one: keiko topology mi300x\n");
}

TEST(Topology, of_an_empty_pool_says_what_to_do) {
  FakeWorld world;
  EXPECT_EQ(world.run({"topology"}), 0);
  EXPECT_THAT(world.err(), HasSubstr("keiko agent --join"));
}

TEST(Topology, of_an_unknown_node_is_the_usual_error) {
  FakeWorld world;
  EXPECT_EQ(world.run({"topology", "nobody"}), kExitNotFound);
  EXPECT_THAT(world.err(), HasSubstr("no node nobody"));
  EXPECT_EQ(world.run({"topology", "a", "b"}), kExitUsage);
}

TEST(Topology, as_json_has_every_pair_and_every_nic) {
  FakeWorld world;
  world.server.nodes = {answer_of(mi300x())};
  EXPECT_EQ(world.run({"topology", "mi300x", "-o", "json"}), 0);
  const auto json = nlohmann::json::parse(world.out());
  EXPECT_EQ(json["node"], "mi300x");
  EXPECT_EQ(json["device_ways"].size(), 8u * 7 / 2);
  EXPECT_EQ(json["device_ways"][0]["kind"], "xgmi");
  EXPECT_EQ(json["device_ways"][0]["nearness"], "numa");
  EXPECT_EQ(json["device_ways"][0]["megabytes_per_s"], 64'000);
  EXPECT_EQ(json["nic_ways"].size(), 8u * 8);
  EXPECT_EQ(json["nic_ways"][0]["nic"], "mlx5_0");
  EXPECT_EQ(json["nic_ways"][0]["nearness"], "switch");
  EXPECT_EQ(json["islands"][0]["devices"].size(), 8u);
  EXPECT_EQ(json["host"]["numa"][1]["cores"], "16-31,48-63");
  EXPECT_EQ(world.run({"topology", "-o", "json"}), 0);
  EXPECT_EQ(nlohmann::json::parse(world.out())["nodes"].size(), 1u);
}

TEST(Topology, never_breaks_on_what_a_node_says_and_never_commands_the_terminal) {
  NodeSpec node = h100();
  Prng prng(7);
  for (int round = 0; round < 50; ++round) {
    NodeSpec odd = node;
    for (PciSlot& slot : odd.host->slots) {
      if (prng.chance(1, 3)) slot.path = "pci0000:zz/\x1b[2J/" + slot.path;
      if (prng.chance(1, 3)) slot.numa_node = static_cast<int32_t>(prng.between(-5, 9));
    }
    for (Nic& nic : odd.host->nics) {
      if (prng.chance(1, 3)) nic.name = "\x1b[31m";
      if (prng.chance(1, 3)) nic.members = {"\n", nic.interface};
    }
    if (prng.chance(1, 2)) odd.host->numa.clear();
    const std::string page = drawn(odd, 80);
    EXPECT_EQ(page.find('\x1b'), std::string::npos);
    expect_within(page, 80);
  }
}

}  // namespace
}  // namespace keiko::cli
