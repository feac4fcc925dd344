#include "agent/socket_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace keiko::agent {
namespace {

using testing::HasSubstr;

template <class T>
T parse_as(std::string_view line) {
  const Result<WorkerLine> parsed = parse_worker_line(line);
  if (!parsed.ok()) {
    ADD_FAILURE() << parsed.error().text();
    return T{};
  }
  EXPECT_TRUE(std::holds_alternative<T>(*parsed)) << line;
  return std::holds_alternative<T>(*parsed) ? std::get<T>(*parsed) : T{};
}

std::string refusal(std::string_view line) {
  const Result<WorkerLine> parsed = parse_worker_line(line);
  return parsed.ok() ? "accepted" : parsed.error().message;
}

TEST(SocketProtocol, reads_every_kind_of_line) {
  const auto hello = parse_as<WorkerHello>(
      R"({"type":"hello","protocol":1,"job":"j7","rank":0,"attempt":1,"pid":42})");
  EXPECT_EQ(hello.protocol, 1);
  EXPECT_EQ(hello.pid, 42);
  const auto progress = parse_as<Progress>(
      R"({"type":"progress","step":5,"total_steps":9,"loss":2.5,"samples":60,"tokens":3840,)"
      R"("tokens_per_s":1000.5})");
  EXPECT_EQ(progress.step, 5);
  EXPECT_EQ(progress.total_steps, 9);
  EXPECT_EQ(progress.loss, 2.5);
  EXPECT_EQ(progress.samples, 60);
  EXPECT_EQ(progress.tokens, 3840);
  EXPECT_EQ(progress.tokens_per_s, 1000.5);
  const auto mark = parse_as<CheckpointMark>(R"({"type":"checkpoint","step":7,"ref":"/c/step-7"})");
  EXPECT_EQ(mark, (CheckpointMark{7, "/c/step-7"}));
  EXPECT_EQ(parse_as<WorkerAck>(R"({"type":"ack","id":3})").id, 3);
}

TEST(SocketProtocol, passes_over_kinds_and_fields_of_newer_programs) {
  EXPECT_EQ(parse_as<UnknownLine>(R"({"type":"vote","for":[1,{"x":2}]})").type, "vote");
  EXPECT_EQ(parse_as<Progress>(R"({"type":"progress","step":1,"mood":"good"})").step, 1);
}

TEST(SocketProtocol, takes_numbers_as_other_languages_write_them) {
  EXPECT_EQ(parse_as<Progress>(R"({"type":"progress","step":12.0})").step, 12);
  EXPECT_EQ(parse_as<Progress>(R"({"type":"progress","step":1,"loss":null})").loss, 0);
  EXPECT_EQ(parse_as<Progress>(R"({"type":"progress","step":1,"loss":-3})").loss, -3);
}

TEST(SocketProtocol, says_what_is_wrong_with_a_line) {
  EXPECT_THAT(refusal(""), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("hello"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("[1]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("{\"type\":\"hello\""), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("{\"type\":\"hello\"} x"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("{\"type\":\"\xff\"}"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal(R"({"step":1})"), HasSubstr("\"type\""));
  EXPECT_THAT(refusal(R"({"type":1})"), HasSubstr("\"type\""));
  EXPECT_THAT(refusal(R"({"type":"progress","step":-1})"), HasSubstr("progress: 'step'"));
  EXPECT_THAT(refusal(R"({"type":"progress","step":1.5})"), HasSubstr("'step'"));
  EXPECT_THAT(refusal(R"({"type":"progress","step":1e300})"), HasSubstr("'step'"));
  EXPECT_THAT(refusal(R"({"type":"progress","step":18446744073709551615})"), HasSubstr("'step'"));
  EXPECT_THAT(refusal(R"({"type":"progress","step":"4"})"), HasSubstr("'step'"));
  EXPECT_THAT(refusal(R"({"type":"progress","loss":"low"})"), HasSubstr("'loss'"));
  EXPECT_THAT(refusal(R"({"type":"checkpoint","step":1})"), HasSubstr("'ref'"));
  EXPECT_THAT(refusal(R"({"type":"checkpoint","step":1,"ref":""})"), HasSubstr("'ref'"));
  EXPECT_THAT(refusal(R"({"type":"ack","id":{}})"), HasSubstr("'id'"));
}

TEST(SocketProtocol, bounds_lines_and_references) {
  const std::string long_line = R"({"type":"x","y":")" + std::string(kMaxLineBytes, 'a') + "\"}";
  EXPECT_THAT(refusal(long_line), HasSubstr("longer than 65536 bytes"));
  const std::string long_ref =
      R"({"type":"checkpoint","step":1,"ref":")" + std::string(kMaxRefBytes + 1, 'a') + "\"}";
  EXPECT_THAT(refusal(long_ref), HasSubstr("'ref'"));
}

TEST(SocketProtocol, survives_deep_nesting) {
  const std::string deep(kMaxLineBytes, '[');
  EXPECT_THAT(refusal(deep), HasSubstr("not a JSON object"));
  static_assert(kMaxLineBytes >= 60'000);
  const std::string half = std::string(30'000, '[') + std::string(30'000, ']');
  EXPECT_EQ(parse_as<UnknownLine>(R"({"type":"deep","x":)" + half + "}").type, "deep");
}

TEST(SocketProtocol, writes_a_notice_as_one_line) {
  EXPECT_EQ(to_line({4, seconds(30), "the node is \"drained\"\nsoon"}),
            R"({"deadline_ms":30000,"id":4,)"
            R"("reason":"the node is \"drained\"\nsoon","type":"notice"})"
            "\n");
  EXPECT_THAT(to_line({1, seconds(1), "\xff"}), HasSubstr("\"type\":\"notice\""));
}

}  // namespace
}  // namespace keiko::agent
