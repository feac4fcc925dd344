#include "model/kernel_record.h"

#include <gtest/gtest.h>

namespace keiko {
namespace {

TEST(KernelRecord, reads_head_text_and_properties) {
  const KernelRecord record = MUST(
      parse_kernel_record("30,2201,4053155111,-,caller=T77;amdgpu 0000:c3:00.0: hello\n"
                          " SUBSYSTEM=pci\n DEVICE=+pci:0000:c3:00.0\n"));
  EXPECT_EQ(record.level, 6);
  EXPECT_EQ(record.facility, 3);
  EXPECT_EQ(record.sequence, 2201u);
  EXPECT_EQ(record.boot_us, 4053155111);
  EXPECT_EQ(record.text, "amdgpu 0000:c3:00.0: hello");
  EXPECT_EQ(record.properties.at("SUBSYSTEM"), "pci");
  EXPECT_EQ(record.properties.at("DEVICE"), "+pci:0000:c3:00.0");
  EXPECT_FALSE(record.fragment);
}

TEST(KernelRecord, keeps_semicolons_and_undoes_escapes) {
  const KernelRecord record = MUST(parse_kernel_record("4,1,2,c;one;two\\x0athree\\x5cx41\\x9\\"));
  EXPECT_EQ(record.text, "one;two\nthree\\x41\\x9\\");
  EXPECT_TRUE(record.fragment);
}

TEST(KernelRecord, reads_a_record_without_its_end) {
  EXPECT_EQ(MUST(parse_kernel_record("4,1,2,-;NVRM: Xi")).text, "NVRM: Xi");
  EXPECT_EQ(MUST(parse_kernel_record("4,1,2,-;")).text, "");
}

TEST(KernelRecord, refuses_what_is_no_record) {
  for (const char* wrong :
       {"", "hello", "4,1,2;text", "4,1,-;text", "x,1,2,-;text", "4,-1,2,-;text", "4,1,2,?;text",
        "4,99999999999999999999,2,-;text", "70000,1,2,-;text", "4,1,2,-", ";", ",,,;"}) {
    const auto record = parse_kernel_record(wrong);
    ASSERT_FALSE(record.ok()) << wrong;
    EXPECT_EQ(record.error().code, Code::kInvalidArgument);
  }
  EXPECT_FALSE(parse_kernel_record("4,1,2,-;" + std::string(20'000, 'x')).ok());
}

}  // namespace
}  // namespace keiko
