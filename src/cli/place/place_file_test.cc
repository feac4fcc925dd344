#include "cli/place/place_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/job/job_file.h"

namespace keiko::cli {
namespace {

using ::testing::HasSubstr;
using Labels = std::map<std::string, std::string>;

constexpr const char* kTwoZones = R"(
zones:
  a:
    racks:
      r1: [head, "gpu[01-16]"]
      r2: ["gpu[17-32,40]-ib"]
  b:
    racks:
      r9: ["n[8-10]"]
)";

Labels place_of(const std::string& node) {
  const PlaceReading reading = read_place(kTwoZones, node);
  EXPECT_EQ(problems_text("place.yaml", reading.problems), "");
  return reading.labels;
}

std::string complaints(const std::string& text, const std::string& node = "n1") {
  return problems_text("place.yaml", read_place(text, node).problems);
}

TEST(PlaceFile, tells_zone_and_rack_of_a_name_or_a_range) {
  EXPECT_EQ(place_of("head"), (Labels{{"zone", "a"}, {"rack", "r1"}}));
  EXPECT_EQ(place_of("gpu01"), (Labels{{"zone", "a"}, {"rack", "r1"}}));
  EXPECT_EQ(place_of("gpu16"), (Labels{{"zone", "a"}, {"rack", "r1"}}));
  EXPECT_EQ(place_of("gpu40-ib"), (Labels{{"zone", "a"}, {"rack", "r2"}}));
  EXPECT_EQ(place_of("n10"), (Labels{{"zone", "b"}, {"rack", "r9"}}));
}

TEST(PlaceFile, a_node_that_is_not_in_it_has_no_place) {
  for (const char* node :
       {"gpu00", "gpu17", "gpu1", "gpu001", "gpu", "n7", "n11", "n08", "heads"}) {
    EXPECT_EQ(place_of(node), Labels{}) << node;
  }
}

TEST(PlaceFile, racks_need_no_zones) {
  EXPECT_EQ(read_place("racks: {r1: [n1]}", "n1").labels, (Labels{{"rack", "r1"}}));
}

TEST(PlaceFile, names_what_is_wrong_and_where) {
  EXPECT_EQ(complaints("racks:\n  r1: [n1]\n  r2: [\"n[1-3]\"]\n"),
            "place.yaml:3:8: n1 stands in two racks: r1 and r2");
  EXPECT_THAT(complaints("racks:\n  r1: n1\n"),
              HasSubstr("place.yaml:2:7: the nodes of rack r1 must be a list, not \"n1\""));
  EXPECT_THAT(complaints("rakcs: {}\n"), HasSubstr("place.yaml:1:1: unknown key \"rakcs\""));
  EXPECT_THAT(complaints("racks: {r1: [\"n[3-1]\"]}"), HasSubstr("\"3-1\" is no range"));
  EXPECT_THAT(complaints("racks: {r1: [\"n[1\"]}"), HasSubstr("is no node; write gpu7"));
  EXPECT_THAT(complaints("[a]"), HasSubstr("expected a map of zones or racks"));
  EXPECT_THAT(load_place_file("/no/such/file", "n1").error().message, HasSubstr("/no/such/file"));
}

}  // namespace
}  // namespace keiko::cli
