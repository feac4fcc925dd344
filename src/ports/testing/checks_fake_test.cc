#include "ports/testing/checks_fake.h"

#include <gtest/gtest.h>

#include "ports/devices_fake.h"
#include "ports/testing/checks_conformance.h"

namespace keiko {
namespace {

struct FakeChecksHarness {
  FakeChecks fake;
  Checks& checks() { return fake; }
  std::vector<Device> devices() { return fake_inventory(2).devices; }
  void lose(const std::string& uuid) { fake.lose(uuid); }
  void get_stuck() { fake.hold(true); }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Fake, ChecksConformance, FakeChecksHarness);

}  // namespace
}  // namespace keiko
