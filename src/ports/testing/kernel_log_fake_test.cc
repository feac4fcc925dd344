#include "ports/testing/kernel_log_fake.h"

#include <gtest/gtest.h>

#include "ports/kernel_log_conformance.h"

namespace keiko {
namespace {

struct FakeKernelLogHarness {
  FakeKernelLog fake;
  KernelLog& log() { return fake; }
  void say(const std::string& text) { fake.say(text); }
  void overwrite(uint64_t count) { fake.overwrite(count); }
  void say_nonsense() { fake.say_nonsense(); }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Fake, KernelLogConformance, FakeKernelLogHarness);

TEST(FakeKernelLog, fails_while_it_is_told_to) {
  FakeKernelLog log;
  log.fail_with(unavailable("no log"));
  EXPECT_EQ(log.read(1).error().code, Code::kUnavailable);
  log.fail_with({Code::kOk, {}, {}});
  EXPECT_TRUE(log.read(1).ok());
}

}  // namespace
}  // namespace keiko
