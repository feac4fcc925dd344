// The JSON that people pipe into jq.
#include "wire/json.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cmath>

#include "keiko/v1/cluster.pb.h"

namespace keiko {
namespace {

v1::Job sample() {
  v1::Job job;
  job.set_id("j7");
  job.mutable_spec()->set_memory(16LL << 30);
  (*job.mutable_spec()->mutable_env())["B"] = "two \"words\"";
  (*job.mutable_spec()->mutable_env())["A"] = "1";
  job.mutable_spec()->mutable_grace()->set_seconds(30);
  job.mutable_spec()->add_command("echo");
  job.mutable_spec()->add_command("稽古\n");
  job.mutable_submitted_at()->set_seconds(1'796'194'800);
  job.mutable_progress()->set_loss(1.5);
  job.add_workers()->add_devices(3);
  return job;
}

TEST(Json, sizes_are_numbers_durations_and_times_are_readable_names_are_the_contracts) {
  const std::string json = to_json(sample());
  for (const char* part :
       {"\"memory\":17179869184", "\"grace\":\"30s\"", "\"submitted_at\":\"2026-12-02T",
        "\"loss\":1.5", "\"env\":{\"A\":\"1\",\"B\":\"two \\\"words\\\"\"}", "\"exit_code\":0",
        "\"devices\":[3]"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  }
  EXPECT_EQ(json.find("checkpoint\":{"), std::string::npos) << "absent messages are left out";
  EXPECT_EQ(json.find('\n'), std::string::npos);
}

TEST(Json, what_is_written_reads_back_equal_plain_and_pretty) {
  for (const bool pretty : {false, true}) {
    v1::Job back;
    const Done read = from_json(to_json(sample(), pretty), back);
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(back, sample()));
  }
}

TEST(Json, numbers_beyond_doubles_and_not_numbers_survive) {
  v1::Event event;
  event.set_cursor(UINT64_MAX);
  EXPECT_NE(to_json(event).find("\"cursor\":\"18446744073709551615\""), std::string::npos);
  v1::Event back;
  MUST(from_json(to_json(event), back));
  EXPECT_EQ(back.cursor(), UINT64_MAX);
  v1::Progress progress;
  progress.set_loss(std::nan(""));
  v1::Progress read;
  MUST(from_json(to_json(progress), read));
  EXPECT_TRUE(std::isnan(read.loss()));
}

TEST(Json, bytes_are_base64) {
  v1::LogPiece piece;
  for (const auto& [bytes, text] : {std::pair{"", ""},
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"\xff\xfe", "//4="}}) {
    piece.set_data(bytes);
    EXPECT_NE(to_json(piece).find("\"data\":\"" + std::string(text) + "\""), std::string::npos)
        << text;
  }
}

TEST(Json, an_empty_list_and_an_empty_message_are_compact_in_both_styles) {
  EXPECT_EQ(to_json(v1::ListJobsResponse()), R"({"jobs":[],"next_page_token":""})");
  EXPECT_EQ(to_json(v1::ListJobsResponse(), true),
            "{\n  \"jobs\": [],\n  \"next_page_token\": \"\"\n}");
}

TEST(Json, unknown_keys_wrong_types_and_garbage_are_refused) {
  for (const char* json :
       {R"({"spec":{"comand":["a"]}})", R"({"spec":{"workers":"many"}})", "{", "[]", "\xff", ""}) {
    v1::SubmitJobRequest request;
    const Done read = from_json(json, request);
    ASSERT_FALSE(read.ok()) << json;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace keiko
