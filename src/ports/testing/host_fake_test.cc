#include "ports/testing/host_fake.h"

#include <gtest/gtest.h>

#include "ports/testing/host_conformance.h"

namespace keiko {
namespace {

std::unique_ptr<Host> make_fake() { return std::make_unique<FakeHost>(fake_host()); }
INSTANTIATE_TEST_SUITE_P(Fake, HostConformance, testing::Values(&make_fake));

TEST(FakeHost, is_what_the_test_set_and_fails_while_it_is_broken) {
  FakeHost host(fake_host());
  HostSpec bare;
  bare.packages = 1;
  host.set_spec(bare);
  EXPECT_EQ(MUST(host.fingerprint()), bare);
  host.fail_with(unavailable("no sysfs"));
  EXPECT_EQ(host.fingerprint().error().code, Code::kUnavailable);
  host.fail_with({Code::kOk, {}, {}});
  EXPECT_TRUE(host.fingerprint().ok());
}

}  // namespace
}  // namespace keiko
