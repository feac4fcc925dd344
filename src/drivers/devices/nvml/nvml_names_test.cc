#include "drivers/devices/nvml/nvml_names.h"

#include <gtest/gtest.h>

namespace keiko {
namespace {

TEST(NvmlNames, make_of_a_product_the_kind_that_people_ask_for) {
  const std::pair<const char*, const char*> cases[] = {
      {"NVIDIA H100 80GB HBM3", "h100"},
      {"NVIDIA H200", "h200"},
      {"NVIDIA A100-SXM4-40GB", "a100"},
      {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "a100"},
      {"Tesla V100-SXM2-16GB", "v100"},
      {"Tesla T4", "t4"},
      {"NVIDIA GH200 480GB", "gh200"},
      {"NVIDIA L40S", "l40s"},
      {"NVIDIA GeForce RTX 4090", "rtx4090"},
      {"NVIDIA GeForce RTX 4090 Laptop GPU", "rtx4090"},
      {"NVIDIA RTX A6000", "a6000"},
      {"Quadro RTX 6000", "rtx6000"},
      {"NVIDIA RTX 6000 Ada Generation", "rtx6000ada"},
      {"NVIDIA TITAN V", "titanv"},
      {"", "gpu"},
  };
  for (const auto& [product, kind] : cases) EXPECT_EQ(kind_of_product(product), kind) << product;
}

TEST(NvmlNames, name_architectures_that_exist) {
  EXPECT_EQ(architecture_name(7), "ampere");
  EXPECT_EQ(architecture_name(9), "hopper");
  EXPECT_EQ(architecture_name(0xffffffff), "");
}

TEST(NvmlNames, read_a_mig_profile_where_the_driver_writes_it) {
  EXPECT_EQ(mig_profile_of_name("NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb"), "1c.3g.20gb");
  EXPECT_EQ(mig_profile_of_name("NVIDIA A100-SXM4-40GB"), "");
}

// Profiles and their sizes as NVIDIA's MIG user guide lists them.
TEST(NvmlNames, work_a_mig_profile_out_where_the_driver_does_not) {
  NvmlAttributes slice{};
  slice.gpu_slices = 1;
  slice.compute_slices = 1;
  slice.memory_mib = 4864;
  const int64_t small = int64_t{40536} << 20;
  EXPECT_EQ(mig_profile_of(slice, small), "1g.5gb");
  slice.memory_mib = 9856;
  EXPECT_EQ(mig_profile_of(slice, int64_t{81251} << 20), "1g.10gb");
  slice.gpu_slices = 3;
  slice.memory_mib = 19968;
  EXPECT_EQ(mig_profile_of(slice, small), "1c.3g.20gb") << "one of three compute slices";
  slice.compute_slices = 3;
  EXPECT_EQ(mig_profile_of(slice, small), "3g.20gb");
}

TEST(NvmlNames, make_no_profile_of_nonsense) {
  NvmlAttributes slice{};
  EXPECT_EQ(mig_profile_of(slice, 1), "");
  slice.gpu_slices = 0xffffffff;
  slice.memory_mib = UINT64_MAX;
  EXPECT_EQ(mig_profile_of(slice, int64_t{40} << 30), "");
  slice.gpu_slices = 1;
  EXPECT_EQ(mig_profile_of(slice, int64_t{40} << 30), "");
}

TEST(NvmlNames, spell_addresses_as_the_kernel_does) {
  NvmlPci pci{};
  pci.domain = 0x10000;
  pci.bus = 0xC3;
  pci.device = 1;
  EXPECT_EQ(pci_address(pci), "10000:c3:01.0");
}

}  // namespace
}  // namespace keiko
