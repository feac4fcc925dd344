#include "core/state/event.h"

#include <gtest/gtest.h>

#include <set>

#include "core/state/state_fixture.h"

namespace keiko {
namespace {

template <size_t... kIndex>
std::vector<uint32_t> kinds(std::index_sequence<kIndex...>) {
  return {std::variant_alternative_t<kIndex, StateBody>::kKind...};
}

TEST(EventCodec, has_one_kind_per_event_counted_without_gaps) {
  const auto all = kinds(std::make_index_sequence<std::variant_size_v<StateBody>>());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i + 1) << "kinds are forever";
}

TEST(EventCodec, brings_every_field_back) {
  AttemptEnded ended;
  ended.job = {3};
  ended.attempt = 2;
  ended.outcome = AttemptOutcome::kRetry;
  ended.reason = Reason::kNodeLost;
  ended.why = "rank 1 on n2 was lost\nwith its node";
  ended.exit_code = 137;
  ended.infra_fault = true;
  ended.not_before = {42};
  ended.excluded = {{1}, {2}};
  const StateEvent event{{-7}, ended};
  const StateEvent back = MUST(decode_event(encode_event(event)));
  EXPECT_EQ(back.at, event.at);
  EXPECT_EQ(to_text(back), to_text(event));
  EXPECT_EQ(encode_event(back), encode_event(event));
}

TEST(EventCodec, keeps_a_value_that_is_empty_where_the_default_is_not) {
  JobSpec spec = job_spec(1, 0);
  spec.queue.clear();
  spec.cpu_milli = 0;
  spec.restarts = 0;
  const std::string bytes = encode_event({{1}, JobSubmitted{{1}, spec, ""}});
  const StateEvent back = MUST(decode_event(bytes));
  EXPECT_EQ(std::get<JobSubmitted>(back.body).spec, spec);
}

TEST(EventCodec, says_that_a_newer_version_wrote_what_it_cannot_read) {
  std::string newer_kind(1, 1);
  put_varint(newer_kind, 4711);
  put_varint(newer_kind, 0);
  EXPECT_EQ(decode_event(newer_kind).error().code, Code::kUnimplemented);
  EXPECT_NE(decode_event(newer_kind).error().message.find("4711"), std::string::npos);
  std::string newer_version = encode_event({{1}, ServerStarted{1}});
  newer_version[0] = 9;
  EXPECT_EQ(decode_event(newer_version).error().code, Code::kUnimplemented);
}

TEST(EventCodec, refuses_a_record_that_is_cut_off) {
  const std::string whole = encode_event({{1}, JobSubmitted{{1}, job_spec(1, 0), "token"}});
  EXPECT_EQ(decode_event("").error().code, Code::kDataLoss);
  EXPECT_EQ(decode_event(whole.substr(0, 1)).error().code, Code::kDataLoss);
  EXPECT_EQ(decode_event(whole.substr(0, whole.size() - 1)).error().code, Code::kDataLoss);
}

TEST(EventText, is_one_line_with_its_name_first) {
  const std::string text = to_text(StateEvent{{1}, JobCancelled{{4}, "no\nmore"}});
  EXPECT_EQ(text, "job_cancelled job=j4 why=\"no\\nmore\"");
}

TEST(Snapshot, refuses_another_version_and_no_bytes) {
  EXPECT_EQ(decode_state("").error().code, Code::kDataLoss);
  EXPECT_EQ(decode_state("\x7f").error().code, Code::kDataLoss);
}

TEST(Snapshot, rebuilds_what_is_not_stored) {
  Tables tables;
  const NodeId node = tables.add_node("a", 2);
  const JobId waits = tables.add_job(job_spec(1, 0), "first");
  const JobId runs = tables.add_job(job_spec(1, 2), "second");
  ASSERT_TRUE(tables.place(runs, {{0, node, {0, 1}}}).ok());
  const State back = MUST(decode_state(encode_state(tables.state)));
  EXPECT_EQ(back.pending, (std::set<JobId>{waits}));
  EXPECT_EQ(back.active, (std::set<JobId>{runs}));
  EXPECT_EQ(back.node_by_name.at("a"), node);
  EXPECT_EQ(back.job_by_token.at("second"), runs);
  EXPECT_EQ(back.nodes.at(node).device_taken, (std::vector<bool>{true, true}));
  EXPECT_EQ(back.nodes.at(node).cpu_taken_milli, 1000);
  EXPECT_EQ(back.nodes.at(node).worker_count, 1);
}

TEST(CheckState, names_what_does_not_hold) {
  Tables tables;
  const NodeId node = tables.add_node("a", 2);
  const JobId job = tables.add_job(job_spec(2, 1));
  ASSERT_TRUE(tables.place(job, {{0, node, {0}}, {1, node, {1}}}).ok());
  const auto complaint = [&](auto change) {
    State broken = tables.state;
    change(broken);
    const Done sound = check_state(broken);
    return sound.ok() ? std::string() : sound.error().message;
  };
  EXPECT_EQ(complaint([](State&) {}), "");
  EXPECT_NE(complaint([&](State& s) { s.jobs.at(job).workers[1].place.devices = {0}; })
                .find("given twice"), std::string::npos);
  EXPECT_NE(complaint([&](State& s) { s.jobs.at(job).workers.pop_back(); }).find("not whole"),
            std::string::npos);
  EXPECT_NE(complaint([&](State& s) { s.nodes.at(node).device_taken[1] = false; }).find("capacity"),
            std::string::npos);
  EXPECT_NE(complaint([&](State& s) { s.nodes.at(node).lost = true; }).find("lost"),
            std::string::npos);
  EXPECT_NE(complaint([&](State& s) { s.active.clear(); }).find("index"), std::string::npos);
  EXPECT_NE(complaint([&](State& s) { s.nodes.at(node).spec.cpu_milli = 1; }).find("gives more"),
            std::string::npos);
}

}  // namespace
}  // namespace keiko
