// Every form in which a fault reaches the kernel's log, and what must not be taken for one.
#include "core/health/log/kernel_line.h"

#include <gtest/gtest.h>

namespace keiko::health {
namespace {

using Kind = ObservationKind;

std::vector<Observation> read(std::string_view text) {
  Observation frame;
  frame.subject.node = "a";
  return read_kernel_line(text, frame);
}

/// What one line says, if it says one thing.
Observation only(std::string_view text) {
  const auto found = read(text);
  EXPECT_EQ(found.size(), 1u) << text;
  return found.size() == 1 ? found[0] : Observation{};
}

struct XidCase {
  const char* line;
  const char* address;
  int64_t xid;
};

class XidLine : public testing::TestWithParam<XidCase> {};

TEST_P(XidLine, names_the_device_and_the_number) {
  const Observation found = only(GetParam().line);
  EXPECT_EQ(found.kind, Kind::kXid);
  EXPECT_EQ(found.subject.kind, HealthSubjectKind::kDevice);
  EXPECT_EQ(found.subject.name, GetParam().address);
  EXPECT_EQ(found.code, GetParam().xid);
  EXPECT_EQ(found.text, GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, XidLine,
    testing::Values(
        XidCase{"NVRM: Xid (PCI:0000:c1:00): 94, pid=1234, name=python, Contained: CE User Channel",
                "0000:c1:00.0", 94},
        XidCase{"NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen "
                "off the bus.",
                "0000:05:00.0", 79},
        XidCase{"NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.", "0000:01:00.0", 79},
        XidCase{"NVRM: Xid (0000:03:00): 14, Channel 00000001", "0000:03:00.0", 14},
        XidCase{"NVRM: Xid (PCI:00000000:C1:00): 31, pid=7, Ch 0000000a", "0000:c1:00.0", 31},
        XidCase{"NVRM: Xid (PCI:0000:17:00.0): 48, An uncorrectable double bit error",
                "0000:17:00.0", 48},
        XidCase{"NVRM: Xid (PCI:0009:01:00): 62, 023f0f30 00000000", "0009:01:00.0", 62},
        XidCase{"[171167.62] NVRM: Xid (PCI:0000:9b:00): 119, pid=2, name=nvidia-smi, Timeout",
                "0000:9b:00.0", 119}));

TEST(KernelLine, reads_the_slice_of_a_split_device) {
  const Observation found =
      only("NVRM: Xid (PCI:0000:01:00 GPU-I:05): 13, pid='<unknown>', name=<unknown>, Graphics");
  EXPECT_EQ(found.gpu_instance, 5);
  EXPECT_EQ(found.code, 13);
}

TEST(KernelLine, reads_what_the_driver_asks_for) {
  const char* drain =
      "NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain "
      "and Reset)";
  EXPECT_EQ(only(drain).value, 4);
  EXPECT_EQ(only("NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x4").value, -1)
      << "it was cut off before the answer";
}

TEST(KernelLine, tells_fatal_nvlink_errors_from_others) {
  EXPECT_EQ(only("NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01").value,
            1);
  EXPECT_EQ(only("NVRM: Xid (PCI:0009:01:00): 145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 00").value,
            0);
}

TEST(KernelLine, tells_a_cut_off_xid_as_a_gap_and_never_as_a_smaller_number) {
  for (const char* torn : {"NVRM: Xid (PCI:0000:c1:00): 9", "NVRM: Xid (PCI:0000:c1:00): ",
                           "NVRM: Xid (PCI:0000:c1:00", "NVRM: Xid (PCI:0000:c1:00): 94"}) {
    const Observation found = only(torn);
    EXPECT_EQ(found.kind, Kind::kLogGap) << torn;
    EXPECT_EQ(found.subject.name, "0000:c1:00.0") << torn;
  }
  EXPECT_TRUE(read("NVRM: Xid (PCI:00").empty()) << "nobody is named";
}

TEST(KernelLine, reads_two_xids_of_lines_that_ran_into_each_other) {
  const auto found = read(
      "NVRM: Xid (PCI:0000:c1:00): 94, pid=12NVRM: Xid (PCI:0000:c2:00): 79, GPU has fallen off");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].code, 94);
  EXPECT_EQ(found[0].subject.name, "0000:c1:00.0");
  EXPECT_EQ(found[1].code, 79);
  EXPECT_EQ(found[1].subject.name, "0000:c2:00.0");
}

TEST(KernelLine, takes_no_switch_error_and_no_chatter_for_an_xid) {
  EXPECT_TRUE(read("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Data {0x00140004}").empty());
  EXPECT_TRUE(
      read("NVRM: GPU at PCI:0000:02:00: GPU-48ef9c66-4339-41dd-0635-3e3803289594").empty());
  EXPECT_TRUE(read("NVRM: Xid error: xyz, invalid data").empty());
  EXPECT_TRUE(read("nvidia-uvm: Loaded the UVM driver, major device number 510").empty());
  EXPECT_TRUE(read("").empty());
}

TEST(KernelLine, sees_a_device_fall_off_the_bus_without_a_number) {
  for (const char* line :
       {"NVRM: GPU 0000:29:00.0: GPU has fallen off the bus.",
        "NVRM: GPU at PCI:0000:29:00.0 has fallen off the bus.",
        "NVRM: The NVIDIA GPU 0000:29:00.0\nNVRM: (PCI ID: 10de:2901) installed in this system "
        "has\nNVRM: fallen off the bus and is not responding to commands."}) {
    const Observation found = only(line);
    EXPECT_EQ(found.kind, Kind::kDeviceLost) << line;
    EXPECT_EQ(found.subject.name, "0000:29:00.0") << line;
  }
}

TEST(KernelLine, counts_amds_uncorrectable_errors_but_not_its_clean_polls) {
  const std::string head = "amdgpu 0000:0b:00.0: amdgpu: ";
  const Observation two = only(head + "2 uncorrectable hardware errors detected in umc block");
  EXPECT_EQ(two.kind, Kind::kEccUncorrectable);
  EXPECT_EQ(two.value, 2);
  EXPECT_EQ(two.detail, "umc");
  EXPECT_EQ(only(head + "socket: 0, die: 1, 3 new uncorrectable hardware errors detected in gfx "
                        "block").value, 3);
  EXPECT_TRUE(read(head + "0 uncorrectable hardware errors detected in umc block").empty());
  EXPECT_TRUE(read(head + "no uncorrectable hardware errors detected in umc block").empty());
  EXPECT_TRUE(read(head + "1 correctable hardware errors detected in gfx block").empty());
  EXPECT_TRUE(
      read(head + "9 uncorrectable hardware errors detected in total in umc block").empty());
}

TEST(KernelLine, follows_amds_resets) {
  const std::string head = "amdgpu 0000:03:00.0: amdgpu: ";
  EXPECT_EQ(only(head + "GPU reset begin!").kind, Kind::kDeviceHang);
  EXPECT_EQ(only(head + "GPU reset(2) succeeded!").kind, Kind::kDeviceReset);
  EXPECT_EQ(only(head + "GPU reset succeeded, trying to resume").kind, Kind::kDeviceReset);
  EXPECT_EQ(only(head + "ASIC reset failed with error, -38 for drm dev").kind, Kind::kResetFailed);
  EXPECT_EQ(only(head + "GPU Recovery Failed: -19").kind, Kind::kResetFailed);
  EXPECT_TRUE(read(head + "Using BOCO for runtime pm").empty());
}

TEST(KernelLine, follows_the_carrier_of_a_nic) {
  const Observation down = only("mlx5_core 0000:5e:00.0 eth2: Link down");
  EXPECT_EQ(down.kind, Kind::kLinkDown);
  EXPECT_EQ(down.subject.kind, HealthSubjectKind::kNic);
  EXPECT_EQ(down.subject.name, "eth2");
  EXPECT_EQ(only("ixgbe 0000:03:00.0 ens1f0: NIC Link is Up 10 Gbps, Flow Control: RX/TX").kind,
            Kind::kLinkUp);
  EXPECT_EQ(only("tg3 0000:02:00.0 eth0: Link is down").kind, Kind::kLinkDown);
  const Observation again = only("igb 0000:01:00.0 eth3: igb: eth3 NIC Link is Down");
  EXPECT_EQ(again.kind, Kind::kLinkDown);
  EXPECT_EQ(again.subject.name, "eth3");
  EXPECT_TRUE(read("ata1: SATA link down (SStatus 0 SControl 300)").empty());
  EXPECT_TRUE(read("pcieport 0000:00:01.0: pciehp: Slot(3): Link Down").empty());
}

TEST(KernelLine, sees_disks_fail_and_processes_die_of_hunger) {
  const Observation disk =
      only("I/O error, dev nvme0n1, sector 1234 op 0x0:(READ) flags 0x80700 phys_seg 1");
  EXPECT_EQ(disk.kind, Kind::kIoError);
  EXPECT_EQ(disk.detail, "nvme0n1");
  EXPECT_EQ(disk.subject.kind, HealthSubjectKind::kNode);
  const Observation killed =
      only("Memory cgroup out of memory: Killed process 4711 (python) total-vm:1kB");
  EXPECT_EQ(killed.kind, Kind::kOutOfMemory);
  EXPECT_EQ(killed.value, 4711);
  EXPECT_EQ(killed.detail, "python");
}

TEST(KernelLine, counts_what_a_rate_limit_swallowed) {
  const Observation gap = only("nvidia_isr: 23 callbacks suppressed");
  EXPECT_EQ(gap.kind, Kind::kLogGap);
  EXPECT_EQ(gap.value, 23);
  EXPECT_EQ(gap.detail, "nvidia_isr");
}

TEST(KernelLine, believes_only_the_kernel_itself) {
  KernelRecord record =
      MUST(parse_kernel_record("4,17,5000001,-;NVRM: Xid (PCI:0000:c1:00): 79, GPU has fallen"));
  const LogPlace place{"a", "boot-1", Time{seconds(100).ns}};
  const auto found = read_kernel_record(record, place);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].at, (Time{seconds(105).ns + 1000}));
  EXPECT_EQ(found[0].boot, "boot-1");
  EXPECT_EQ(found[0].boot_us, 5'000'001);
  EXPECT_EQ(found[0].source, ObservationSource::kKernelLog);
  record.facility = 1;
  EXPECT_TRUE(read_kernel_record(record, place).empty()) << "a program wrote this into /dev/kmsg";
}

TEST(KernelLine, keeps_evidence_short) {
  const std::string line = "NVRM: Xid (PCI:0000:c1:00): 31, " + std::string(5000, 'x');
  EXPECT_EQ(only(line).text.size(), 512u);
}

}  // namespace
}  // namespace keiko::health
