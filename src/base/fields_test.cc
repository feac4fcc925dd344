#include "base/fields.h"

#include <gtest/gtest.h>

namespace keiko {
namespace {

enum class Colour : int { kRed = 1, kBlue = 2 };
std::string to_text(Colour colour) { return colour == Colour::kRed ? "red" : "blue"; }

struct Inner {
  int32_t count = 0;
  std::string name;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "count", s.count);
    v(2, "name", s.name);
  }
  friend bool operator==(const Inner&, const Inner&) = default;
};

struct Wider {
  int32_t count = 0;
  std::string name;
  int32_t later = 9;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "count", s.count);
    v(2, "name", s.name);
    v(30, "later", s.later);
  }
};

struct Outer {
  JobId job;
  std::vector<Inner> list;
  std::map<std::string, int64_t> table;
  std::optional<int32_t> maybe;
  Colour colour = Colour::kRed;
  Duration wait;
  bool flag = false;
  std::set<NodeId> nodes;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "job", s.job);
    v(2, "list", s.list);
    v(3, "table", s.table);
    v(4, "maybe", s.maybe);
    v(5, "colour", s.colour);
    v(6, "wait", s.wait);
    v(7, "flag", s.flag);
    v(8, "nodes", s.nodes);
  }
  friend bool operator==(const Outer&, const Outer&) = default;
};

Outer sample() {
  Outer outer;
  outer.job = {7};
  outer.list = {{1, "a"}, {-5, ""}};
  outer.table = {{"x", -1}, {"y", INT64_MAX}};
  outer.maybe = 0;
  outer.colour = Colour::kBlue;
  outer.wait = seconds(90);
  outer.flag = true;
  outer.nodes = {{2}, {1}};
  return outer;
}

TEST(Fields, every_kind_of_field_comes_back) {
  const Outer outer = sample();
  const Result<Outer> back = decode<Outer>(encode(outer));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, outer);
}

TEST(Fields, unknown_tags_are_skipped_and_absent_ones_keep_their_default) {
  const Result<Wider> wide = decode<Wider>(encode(Inner{3, "n"}));
  ASSERT_TRUE(wide.ok());
  EXPECT_EQ(wide->later, 9);
  const Result<Inner> back = decode<Inner>(encode(Wider{4, "w", 8}));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, (Inner{4, "w"}));
}

TEST(Fields, an_empty_value_is_kept_where_the_default_is_not_empty) {
  const Result<Wider> back = decode<Wider>(encode(Wider{0, "", 0}));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->later, 0);
}

TEST(Fields, every_cut_of_a_record_is_refused_or_shorter_but_never_reads_past_the_end) {
  const std::string bytes = encode(sample());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Result<Outer> cut = decode<Outer>(std::string_view(bytes).substr(0, size));
    if (cut.ok()) {
      EXPECT_NE(*cut, sample());
    }
  }
}

TEST(Fields, text_names_every_field_that_is_set) {
  EXPECT_EQ(fields_text(sample()),
            "job=j7 list=[{count=1 name=a},{count=-5}] table={x:-1 y:9223372036854775807} maybe=0 "
            "colour=blue wait=1m 30s flag=true nodes=[n1,n2]");
}

}  // namespace
}  // namespace keiko
