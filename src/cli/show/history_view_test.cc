// The past of metrics as people see it.
#include "cli/show/history_view.h"

#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "cli/fake_client.h"

namespace keiko::cli {
namespace {

void add_point(v1::MetricHistory& series, Duration ago, double min, double max) {
  v1::MetricPoint& point = *series.add_points();
  *point.mutable_at() = stamp(ago);
  point.set_min(min);
  point.set_max(max);
  point.set_mean((min + max) / 2);
  point.set_count(10);
}

v1::GetHistoryResponse an_hour() {
  v1::GetHistoryResponse history;
  history.set_node("node1");
  *history.mutable_since() = stamp(hours(1));
  *history.mutable_until() = stamp({});
  set_proto(*history.mutable_step(), minutes(5));
  v1::MetricHistory& load = *history.add_series();
  load.set_index(-1);
  load.set_metric("load_1m");
  add_point(load, minutes(60), 1, 2);
  add_point(load, minutes(30), 3, 4);
  v1::MetricHistory& power = *history.add_series();
  power.set_device("GPU-a");
  power.set_index(0);
  power.set_metric("power_watts");
  for (int i = 0; i < 12; ++i) add_point(power, minutes(60 - 5 * i), 50 * i, 50 * i + 100);
  v1::MetricHistory& used = *history.add_series();
  used.set_device("GPU-gone");
  used.set_index(-1);
  used.set_metric("memory_used_bytes");
  add_point(used, minutes(60), 1 << 30, 1 << 30);
  return history;
}

TEST(HistoryView, draws_a_curve_a_metric_under_its_device) {
  const std::string page = history_page(an_hour(), FakeTerminal().console);
  EXPECT_EQ(page,
            "node1  2026-12-02 07:00:00 to 2026-12-02 08:00:00 UTC, by 5m 0s\n"
            "\n"
            "node1                                     MIN       MEAN        MAX       LAST\n"
            "load_1m            ▄▄     ██             1.00       2.50       4.00       3.50\n"
            "\n"
            "node1/0  GPU-a                            MIN       MEAN        MAX       LAST\n"
            "power_watts        ▂▂▂▃▃▄▄▅▅▆▆▇▇██         0W       325W       650W       600W\n"
            "\n"
            "node1/GPU-gone  (not there now)           MIN       MEAN        MAX       LAST\n"
            "memory_used_bytes  ██                    1GiB       1GiB       1GiB       1GiB\n");
}

TEST(HistoryView, says_since_when_a_node_is_silent) {
  v1::GetHistoryResponse history = an_hour();
  history.mutable_series()->DeleteSubrange(1, 1);
  const std::string page = history_page(history, FakeTerminal().console);
  EXPECT_NE(page.find("by 5m 0s, nothing in the last 25m 0s\n"), std::string::npos) << page;
  history.clear_series();
  EXPECT_NE(history_page(history, FakeTerminal().console).find("nothing was measured"),
            std::string::npos);
}

TEST(HistoryView, values_have_the_unit_of_their_metric) {
  EXPECT_EQ(metric_text("utilisation_ratio", 0.97), "97%");
  EXPECT_EQ(metric_text("memory_used_bytes", 40.0 * (1 << 30)), "40GiB");
  EXPECT_EQ(metric_text("temperature_celsius", 31), "31C");
  EXPECT_EQ(metric_text("load_1m", 0.256), "0.26");
}

TEST(History, asks_for_a_device_and_prints_every_form) {
  FakeWorld world;
  world.server.history = an_hour();
  EXPECT_EQ(world.run({"history", "node1/0", "--metric", "power_watts", "--since", "2h"}), 0);
  EXPECT_EQ(world.server.history_asked.node(), "node1");
  EXPECT_EQ(world.server.history_asked.device(), "0");
  EXPECT_EQ(world.server.history_asked.metrics(0), "power_watts");
  EXPECT_EQ(world.server.history_asked.since().seconds(), 7200);
  EXPECT_EQ(world.run({"history", "node1", "-o", "wide"}), 0);
  EXPECT_NE(world.out().find("node1/0  power_watts"), std::string::npos) << world.out();
  EXPECT_EQ(world.run({"history", "node1", "-o", "json"}), 0);
  EXPECT_NE(world.out().find("\"metric\""), std::string::npos);
  EXPECT_EQ(world.run({"history", "node1", "-o", "yaml"}), 0);
  EXPECT_EQ(world.run({"history", "node1", "--since", "soon"}), kExitUsage);
  EXPECT_EQ(world.run({"history"}), kExitUsage);
}

}  // namespace
}  // namespace keiko::cli
