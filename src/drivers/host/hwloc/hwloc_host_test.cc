#include "drivers/host/hwloc/hwloc_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/prng.h"
#include "drivers/sysfs/machine_fixture.h"
#include "ports/testing/host_conformance.h"

namespace keiko {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::unique_ptr<Host> here() { return std::make_unique<HwlocHost>("/"); }

template <const char* kName>
std::unique_ptr<Host> recorded() {
  static const RecordedMachine machine(kName);
  return std::make_unique<HwlocHost>(machine.root());
}
constexpr char kH100[] = "h100_ib";
constexpr char kMi300x[] = "mi300x_8";
constexpr char kLaptop[] = "laptop";
INSTANTIATE_TEST_SUITE_P(Here, HostConformance, testing::Values(&here));
INSTANTIATE_TEST_SUITE_P(Recorded, HostConformance,
                         testing::Values(&recorded<kH100>, &recorded<kMi300x>,
                                         &recorded<kLaptop>));

HostSpec look_at(const std::string& root) { return MUST(HwlocHost(root).fingerprint()); }

const Nic& nic_named(const HostSpec& spec, const std::string& name) {
  for (const Nic& nic : spec.nics) {
    if (nic.name == name) return nic;
  }
  ADD_FAILURE() << "no NIC " << name;
  static const Nic none;
  return none;
}

std::vector<std::string> names_of(const HostSpec& spec) {
  std::vector<std::string> names;
  for (const Nic& nic : spec.nics) names.push_back(nic.name);
  return names;
}

TEST(HwlocHost, knows_this_machine) {
  const HostSpec spec = look_at("/");
  ASSERT_FALSE(spec.numa.empty());
  EXPECT_GT(spec.numa[0].memory, mebibytes(64));
}

TEST(HwlocHost, reads_cores_memory_and_sockets_below_its_root) {
  const RecordedMachine machine("mi300x_8");
  const HostSpec spec = look_at(machine.root());
  EXPECT_EQ(spec.packages, 2);
  const NumaNode first{0, 0, "0-15,32-47", gibibytes(1024), "0-15 32-47"};
  const NumaNode second{1, 1, "16-31,48-63", gibibytes(1024), "16-31 48-63"};
  EXPECT_THAT(spec.numa, ElementsAre(first, second));
  EXPECT_EQ(std::getenv("HWLOC_FSROOT"), nullptr) << "the environment is as it was";
}

TEST(HwlocHost, finds_infiniband_ports_with_their_place_rate_and_fabric) {
  const RecordedMachine machine("h100_ib");
  const HostSpec spec = look_at(machine.root());
  const Nic& first = nic_named(spec, "mlx5_0");
  EXPECT_EQ(first.interface, "ibp0");
  EXPECT_EQ(first.kind, NicKind::kInfiniband);
  EXPECT_EQ(first.pci_address, "0000:14:00.0");
  EXPECT_EQ(first.numa_node, 0);
  EXPECT_TRUE(first.up);
  EXPECT_EQ(first.megabits_per_s, 400'000);
  EXPECT_EQ(first.port_guid, "b83f:d203:0000:0156");
  EXPECT_EQ(first.subnet, "fe80:0000:0000:0000");
  EXPECT_EQ(first.subnet_lid, 1);
  const Nic& broken = nic_named(spec, "mlx5_7");
  EXPECT_FALSE(broken.up);
  EXPECT_EQ(broken.megabits_per_s, 0) << "what it would begin with is no rate";
}

TEST(HwlocHost, leaves_interfaces_of_software_out_and_names_a_bond_with_its_members) {
  const RecordedMachine machine("h100_ib");
  const HostSpec spec = look_at(machine.root());
  EXPECT_THAT(names_of(spec),
              ElementsAre("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_bond_0", "enp113s0f1",
                          "mlx5_9", "mlx5_5", "mlx5_6", "mlx5_7", "mlx5_8", "mlx5_10", "bond0"));
  const Nic& bond = nic_named(spec, "bond0");
  EXPECT_THAT(bond.members, ElementsAre("enp113s0f0", "enp113s0f1"));
  EXPECT_EQ(bond.megabits_per_s, 200'000);
  EXPECT_EQ(bond.numa_node, 0);
  const Nic& both = nic_named(spec, "mlx5_bond_0");
  EXPECT_EQ(both.kind, NicKind::kRoce);
  EXPECT_EQ(both.interface, "enp113s0f0");
  EXPECT_EQ(both.port_guid, "") << "Ethernet has no port GUIDs";
}

TEST(HwlocHost, gives_slots_to_accelerators_and_nics) {
  const RecordedMachine machine("h100_ib");
  const HostSpec spec = look_at(machine.root());
  EXPECT_THAT(spec.slots, SizeIs(8 + 8 + 2 + 2));
  const PciSlot gpu{"pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:00.0/0000:13:00.0", 0};
  EXPECT_EQ(spec.slots[0], gpu);
}

TEST(HwlocHost, finds_the_wired_and_the_radio_port_of_a_laptop) {
  const RecordedMachine machine("laptop");
  const HostSpec spec = look_at(machine.root());
  EXPECT_THAT(names_of(spec), ElementsAre("enp1s0", "wlp2s0"));
  EXPECT_FALSE(spec.nics[0].up);
  EXPECT_TRUE(spec.nics[1].up);
  EXPECT_EQ(spec.nics[1].megabits_per_s, 0) << "a radio's rate changes all the time";
  EXPECT_EQ(spec.nics[1].numa_node, -1);
}

// ---- machines of a test's own ----

constexpr char kFunction[] = "sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0";

/// A machine with one function at 0000:11:00.0.
class OneFunction : public RecordedMachine {
 public:
  OneFunction() {
    add(std::string(kFunction) + "/class", "0x020000");
    add(std::string(kFunction) + "/numa_node", "1");
    add("sys/bus/pci/devices/0000:11:00.0", std::string("-> ../../../../") + kFunction);
  }
  /// An interface of the function.
  void add_interface(const std::string& name, const std::string& dev_port) {
    const std::string folder = std::string(kFunction) + "/net/" + name;
    add(folder + "/operstate", "up");
    add(folder + "/speed", "25000");
    add(folder + "/type", "1");
    add(folder + "/dev_port", dev_port);
    add(folder + "/device", "-> ../..");
    add("sys/class/net/" + name, "-> ../../../" + folder);
  }
  /// A port of an RDMA device of the function.
  void add_port(const std::string& device, const std::string& port, const std::string& layer) {
    const std::string folder = std::string(kFunction) + "/infiniband/" + device;
    add(folder + "/node_type", "1: CA");
    add(folder + "/ports/" + port + "/state", "4: ACTIVE");
    add(folder + "/ports/" + port + "/rate", "25 Gb/sec (1X EDR)");
    add(folder + "/ports/" + port + "/link_layer", layer);
    add("sys/class/infiniband/" + device, "-> ../../../" + folder);
  }
};

TEST(HwlocHost, tells_the_ports_of_one_function_apart) {
  OneFunction machine;
  machine.add_interface("eth0", "0");
  machine.add_interface("eth1", "1");
  machine.add_port("mlx4_0", "1", "Ethernet");
  machine.add_port("mlx4_0", "2", "Ethernet");
  const HostSpec spec = look_at(machine.root());
  EXPECT_THAT(names_of(spec), ElementsAre("mlx4_0:1", "mlx4_0:2"));
  EXPECT_EQ(spec.nics[0].interface, "eth0");
  EXPECT_EQ(spec.nics[1].interface, "eth1");
  EXPECT_EQ(spec.nics[1].kind, NicKind::kRoce);
  EXPECT_EQ(spec.nics[1].megabits_per_s, 25'000);
  EXPECT_THAT(spec.slots, SizeIs(1));
}

TEST(HwlocHost, calls_fabrics_of_their_own_rdma) {
  OneFunction machine;
  machine.add_port("rdmap0", "1", "Unspecified");
  EXPECT_EQ(look_at(machine.root()).nics.at(0).kind, NicKind::kRdma);
  machine.add(std::string(kFunction) + "/infiniband/rdmap0/node_type", "4: RNIC");
  machine.add(std::string(kFunction) + "/infiniband/rdmap0/ports/1/link_layer", "Ethernet");
  EXPECT_EQ(look_at(machine.root()).nics.at(0).kind, NicKind::kRdma) << "iWARP is no RoCE";
}

TEST(HwlocHost, leaves_virtual_functions_and_representors_out) {
  OneFunction machine;
  machine.add_interface("eth0", "0");
  machine.add_interface("eth0r1", "0");
  machine.add(std::string(kFunction) + "/net/eth0r1/phys_port_name", "pf0vf1");
  EXPECT_THAT(names_of(look_at(machine.root())), ElementsAre("eth0"));
  machine.add(std::string(kFunction) + "/net/eth0/phys_port_name", "p0");
  EXPECT_THAT(names_of(look_at(machine.root())), ElementsAre("eth0"));
  machine.add(std::string(kFunction) + "/physfn", "-> ../0000:11:00.1");
  machine.add("sys/devices/pci0000:10/0000:10:01.0/0000:11:00.1", "/");
  EXPECT_THAT(names_of(look_at(machine.root())), IsEmpty());
}

TEST(HwlocHost, leaves_names_out_that_are_no_text) {
  OneFunction machine;
  machine.add_interface("eth\xff", "0");
  machine.add_interface("eth0", "1");
  EXPECT_THAT(names_of(look_at(machine.root())), ElementsAre("eth0"));
}

TEST(HwlocHost, an_empty_machine_has_nothing) {
  const RecordedMachine machine;
  const HostSpec spec = look_at(machine.root());
  EXPECT_THAT(spec.numa, IsEmpty());
  EXPECT_THAT(spec.nics, IsEmpty());
  EXPECT_THAT(spec.slots, IsEmpty());
}

TEST(HwlocHost, makes_no_nic_and_no_rate_of_torn_files) {
  RecordedMachine machine("h100_ib");
  const HostSpec sound = look_at(machine.root());
  std::vector<std::string> files = machine.files();
  std::erase_if(files, [](const std::string& file) {
    return file.find("/net/") == std::string::npos &&
           file.find("/infiniband/") == std::string::npos;
  });
  ASSERT_FALSE(files.empty());
  Prng prng(20);
  HwlocHost host(machine.root());
  for (int round = 0; round < 100; ++round) {
    const std::string& file = files[prng.below(files.size())];
    const std::string whole = machine.read(file);
    static constexpr const char* kBroken[] = {"", "\n", "-1\n", "99999999999999999999\n", "4", "x"};
    machine.write(file, kBroken[prng.below(std::size(kBroken))]);
    const HostSpec seen = MUST(host.fingerprint());
    EXPECT_LE(seen.nics.size(), sound.nics.size()) << file;
    for (const Nic& nic : seen.nics) {
      EXPECT_LE(nic.megabits_per_s, 400'000) << file;
      EXPECT_GE(nic.megabits_per_s, 0) << file;
    }
    machine.write(file, whole);
  }
  EXPECT_EQ(MUST(host.fingerprint()), sound);
}

TEST(CpuLayout, of_another_root_is_refused_once_there_are_threads) {
  const RecordedMachine machine("laptop");
  // In a process of its own, since the others here must stay without threads.
  const auto refused = [&machine] {
    std::thread([] {}).join();
    const Result<CpuLayout> layout = read_cpu_layout(machine.root());
    const bool told = !layout.ok() && layout.error().code == Code::kFailedPrecondition &&
                      layout.error().message.find(machine.root()) != std::string::npos;
    std::_Exit(told && read_cpu_layout("/").ok() ? 0 : 1);
  };
  EXPECT_EXIT(refused(), testing::ExitedWithCode(0), "");
}

TEST(CpuLayout, of_a_root_that_is_no_machine_is_not_made_up) {
  const RecordedMachine machine;
  const Result<CpuLayout> nothing = read_cpu_layout(machine.root());
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().code, Code::kUnavailable);
  EXPECT_THAT(nothing.error().message, HasSubstr(machine.root() + "/sys/devices/system/cpu"));
}

}  // namespace
}  // namespace keiko
