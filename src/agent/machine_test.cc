#include "agent/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keiko::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Machine, makes_a_label_of_any_host_name) {
  EXPECT_EQ(label_of("node-1.cluster.local"), "node-1");
  EXPECT_EQ(label_of("Ada's PC"), "ada-s-pc");
  EXPECT_EQ(label_of("--x--"), "x");
  EXPECT_EQ(label_of("数学"), "node");
  EXPECT_EQ(label_of(""), "node");
  EXPECT_EQ(label_of(std::string(80, 'a')), std::string(63, 'a'));
  EXPECT_TRUE(is_label(label_of(std::string(62, 'a') + "-b")));
}

TEST(Machine, finds_the_address_that_a_local_server_sees) {
  EXPECT_EQ(MUST(address_towards("127.0.0.1:7070")), "127.0.0.1");
  EXPECT_EQ(MUST(address_towards("127.0.0.1")), "127.0.0.1");
}

TEST(Machine, says_what_to_do_about_a_server_that_does_not_resolve) {
  const auto address = address_towards("no-such-host.invalid:7070");
  ASSERT_FALSE(address.ok());
  EXPECT_THAT(address.error().message, HasSubstr("--address"));
}

TEST(Machine, refuses_a_name_that_is_no_label) {
  AgentOptions options;
  options.address = "10.0.0.1";
  options.name = "My Node";
  const auto spec = describe_machine(options, "i", {});
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(spec.error().message, HasSubstr("'my-node'"));
}

TEST(Machine, prefers_what_it_is_told_to_what_it_finds) {
  AgentOptions options;
  options.name = "a";
  options.address = "10.0.0.1";
  options.cpu_milli = 1500;
  options.memory = gibibytes(1);
  options.labels = {{"zone", "z"}};
  const NodeSpec spec = MUST(describe_machine(options, "i", {}));
  EXPECT_EQ(spec.cpu_milli, 1500);
  EXPECT_EQ(spec.memory, gibibytes(1));
  EXPECT_EQ(spec.labels.at("zone"), "z");
}

TEST(Machine, shares_the_cores_out_among_cpu_slots) {
  EXPECT_THAT(cores_of_slots({0, 1, 2, 3}, {0}, 2), ElementsAre(0, 2));
  EXPECT_THAT(cores_of_slots({0, 1, 2, 3}, {0, 1}, 2), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(cores_of_slots({4, 5}, {2}, 4), ElementsAre(4));
  EXPECT_THAT(cores_of_slots({}, {0}, 1), IsEmpty());
}

}  // namespace
}  // namespace keiko::agent
