#include "core/logship/node_retention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"

namespace keiko::logship {
namespace {

WorkerKey worker(uint64_t job) { return {JobId{job}, 1, 0}; }

NodeOutput shipped(uint64_t job, int64_t mib, Duration since) {
  return {worker(job), mebibytes(mib), false, true, true, since};
}

std::vector<uint64_t> removed(const std::vector<NodeOutput>& outputs,
                              const NodeRetentionOptions& options, bool short_of_room = false) {
  std::vector<uint64_t> jobs;
  for (const NodeRemoval& removal : plan_node_removals(outputs, options, short_of_room)) {
    jobs.push_back(removal.worker.job.number);
  }
  return jobs;
}

using Jobs = std::vector<uint64_t>;

TEST(NodeRetention, removes_nothing_within_its_limits) {
  EXPECT_EQ(removed({shipped(1, 5, minutes(1)), shipped(2, 5, minutes(2))},
                    {hours(1), 2, mebibytes(10)}),
            Jobs{});
}

TEST(NodeRetention, removes_what_the_server_has_for_long) {
  const std::vector<NodeOutput> outputs{shipped(1, 1, minutes(59)), shipped(2, 1, minutes(61))};
  EXPECT_EQ(removed(outputs, {hours(1), 0, {}}), Jobs{2});
  EXPECT_EQ(removed(outputs, {{}, 0, {}}), (Jobs{2, 1})) << "0 keeps nothing";
  EXPECT_EQ(plan_node_removals(outputs, {hours(1), 0, {}}, false).at(0).why,
            "the server has it for 1h 0m or longer (--log-keep)");
}

TEST(NodeRetention, removes_the_oldest_until_their_number_fits) {
  const std::vector<NodeOutput> outputs{shipped(1, 1, minutes(3)), shipped(2, 1, minutes(9)),
                                        shipped(3, 1, minutes(5))};
  EXPECT_EQ(removed(outputs, {hours(1), 1, {}}), (Jobs{2, 3}));
  EXPECT_EQ(plan_node_removals(outputs, {hours(1), 1, {}}, false).at(1).why,
            "output of 2 workers lay here, and that of 1 is kept (--log-workers)");
}

TEST(NodeRetention, removes_the_oldest_until_their_bytes_fit) {
  const std::vector<NodeOutput> outputs{shipped(1, 40, minutes(3)), shipped(2, 40, minutes(9)),
                                        shipped(3, 40, minutes(5))};
  EXPECT_EQ(removed(outputs, {hours(1), 0, mebibytes(80)}), Jobs{2});
  EXPECT_EQ(plan_node_removals(outputs, {hours(1), 0, mebibytes(80)}, false).at(0).why,
            "all output here took 120MiB, and 80MiB is kept (--log-total)");
}

TEST(NodeRetention, what_is_in_use_or_not_yet_the_servers_counts_but_stays) {
  NodeOutput runs = shipped(1, 100, hours(9));
  runs.runs = true;
  NodeOutput untold = shipped(2, 100, hours(9));
  untold.end_told = false;
  NodeOutput unshipped = shipped(3, 100, hours(9));
  unshipped.shipped = false;
  const std::vector<NodeOutput> outputs{runs, untold, unshipped, shipped(4, 1, minutes(1))};
  EXPECT_EQ(removed(outputs, {hours(1), 1, mebibytes(1)}), Jobs{4});
  EXPECT_EQ(removed({runs, untold, unshipped}, {{}, 1, mebibytes(1)}), Jobs{});
  EXPECT_EQ(removed(outputs, {hours(1), 0, {}}, true), Jobs{4}) << "a nearly full disk";
}

/// One node's folder in a random state, and limits near what lies there.
class RandomFolder {
 public:
  explicit RandomFolder(uint64_t seed) : prng_(seed) {
    const uint64_t count = prng_.below(30);
    for (uint64_t job = 1; job <= count; ++job) {
      NodeOutput output = shipped(job, static_cast<int64_t>(prng_.below(50)),
                                  minutes(static_cast<int64_t>(prng_.below(90))));
      output.runs = prng_.chance(1, 5);
      output.end_told = prng_.chance(4, 5);
      output.shipped = prng_.chance(4, 5);
      outputs.push_back(output);
    }
    options.keep = minutes(static_cast<int64_t>(prng_.below(100)));
    options.workers = static_cast<int64_t>(prng_.below(30));
    options.total = mebibytes(static_cast<int64_t>(prng_.below(800)));
  }
  std::vector<NodeOutput> outputs;
  NodeRetentionOptions options;

 private:
  Prng prng_;
};

bool is_kept_by_law(const NodeOutput& output) {
  return output.runs || !output.end_told || !output.shipped;
}

bool breaks_a_limit(const std::vector<NodeOutput>& outputs, const NodeRetentionOptions& options) {
  int64_t total_bytes = 0;
  for (const NodeOutput& output : outputs) total_bytes += output.size.count;
  const bool many =
      options.workers > 0 && static_cast<int64_t>(outputs.size()) > options.workers;
  return many || (options.total.count > 0 && total_bytes > options.total.count);
}

void check_plan(const RandomFolder& folder) {
  std::vector<NodeOutput> left = folder.outputs;
  const auto find = [&](const WorkerKey& key) {
    return std::find_if(left.begin(), left.end(),
                        [&](const NodeOutput& output) { return output.worker == key; });
  };
  for (const NodeRemoval& removal : plan_node_removals(folder.outputs, folder.options, false)) {
    const auto found = find(removal.worker);
    ASSERT_NE(found, left.end()) << "named twice, or never there";
    const NodeOutput gone = *found;
    ASSERT_FALSE(is_kept_by_law(gone)) << to_text(gone.worker);
    ASSERT_TRUE(gone.since_shipped >= folder.options.keep || breaks_a_limit(left, folder.options))
        << "nothing asked for it";
    left.erase(found);
    for (const NodeOutput& other : left) {
      ASSERT_TRUE(is_kept_by_law(other) || other.since_shipped <= gone.since_shipped)
          << "an older one was there";
    }
  }
  for (const NodeOutput& output : left) {
    if (is_kept_by_law(output)) continue;
    ASSERT_LT(output.since_shipped, folder.options.keep);
    ASSERT_FALSE(breaks_a_limit(left, folder.options)) << "there was something left to remove";
  }
}

TEST(NodeRetention, holds_its_limits_with_the_oldest_that_may_go_and_no_more) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed=" + std::to_string(seed));
    check_plan(RandomFolder(seed));
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace keiko::logship
