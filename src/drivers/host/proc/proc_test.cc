#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <fstream>

#include "drivers/host/proc/network_readings.h"
#include "drivers/host/proc/node_readings.h"
#include "drivers/host/proc/worker_readings.h"
#include "drivers/substrate/process/files.h"
#include "drivers/substrate/process/proc.h"
#include "drivers/sysfs/machine_fixture.h"
#include "telemetry/catalogue.h"

namespace keiko {
namespace {

Values values_of(const std::vector<Reading>& readings, SubjectKind kind, const std::string& id) {
  for (const Reading& reading : readings) {
    if (reading.subject == Subject{kind, id}) return reading.values;
  }
  return {};
}

void expect_known(const std::vector<Reading>& readings) {
  for (const Reading& reading : readings) {
    for (const auto& [name, value] : reading.values) {
      EXPECT_NE(telemetry::find_metric(reading.subject.kind, name), nullptr) << name;
      EXPECT_TRUE(std::isfinite(value)) << name;
    }
  }
}

/// A machine of two cores, in the words of a kernel.
class NodeReadingsTest : public testing::Test {
 protected:
  void SetUp() override {
    machine_.add("proc/stat",
                 "cpu  1000 20 300 5000 60 7 80 9 0 0\\ncpu0 500 10 150 2500 30 3 40 4 0 0\\n"
                 "cpu1 500 10 150 2500 30 4 40 5 0 0\\nintr 12345 1 2\\nbtime 1700000000\\n"
                 "procs_running 3\\nprocs_blocked 1");
    machine_.add("proc/meminfo", "MemTotal:       16384000 kB\\nMemFree:  1000 kB\\n"
                                 "MemAvailable:    8192000 kB\\nHugePages_Total:       0");
    machine_.add("proc/loadavg", "0.50 1.25 2.00 3/456 7890");
    machine_.add("proc/pressure/io", "some avg10=12.50 avg60=1.00 avg300=0.10 total=2500000\\n"
                                     "full avg10=6.25 avg60=0.50 avg300=0.05 total=1000000");
    machine_.add("proc/diskstats",
                 " 259       0 nvme0n1 100 1 2048 30 200 2 4096 40 0 1500 70 0 0 0 0 0 0\\n"
                 " 259       1 nvme0n1p1 90 1 2000 30 190 2 4000 40 0 1400 70 0 0 0 0 0 0\\n"
                 "   7       0 loop0 5 0 10 1 0 0 0 0 0 1 1 0 0 0 0 0 0");
    machine_.add("sys/block/nvme0n1/device/model", "a disk");
    machine_.add("sys/block/loop0/size", "8");
  }
  RecordedMachine machine_;
};

TEST_F(NodeReadingsTest, tell_cores_memory_load_pressure_and_disks) {
  NodeReadings source(machine_.root(), "");
  const auto readings = MUST(source.read());
  expect_known(readings);
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const Values node = values_of(readings, SubjectKind::kNode, "");
  EXPECT_DOUBLE_EQ(node.at("cpu_user_seconds"), 1000 * tick);
  EXPECT_DOUBLE_EQ(node.at("cpu_steal_seconds"), 9 * tick);
  EXPECT_EQ(node.at("cpus"), 2);
  EXPECT_EQ(node.at("boot_time_seconds"), 1700000000);
  EXPECT_EQ(node.at("processes_blocked"), 1);
  EXPECT_EQ(node.at("memory_total_bytes"), 16384000.0 * 1024);
  EXPECT_EQ(node.at("memory_available_bytes"), 8192000.0 * 1024);
  EXPECT_EQ(node.at("load_15m"), 2.0);
  EXPECT_DOUBLE_EQ(node.at("pressure_io_some_ratio"), 0.125);
  EXPECT_DOUBLE_EQ(node.at("pressure_io_full_seconds"), 1.0);
  EXPECT_EQ(node.count("pressure_cpu_some_ratio"), 0u) << "this kernel does not tell";
  EXPECT_EQ(node.count("swap_total_bytes"), 0u);
  EXPECT_EQ(node.count("cpu_utilisation_ratio"), 0u) << "it needs two looks";
  EXPECT_EQ(readings.size(), 2u) << "the node and one disk; no partition, no loop";
  const Values expected = {{"reads", 100}, {"read_bytes", 2048 * 512}, {"writes", 200},
                           {"written_bytes", 4096 * 512}, {"busy_seconds", 1.5}};
  EXPECT_EQ(values_of(readings, SubjectKind::kDisk, "nvme0n1"), expected);
}

TEST_F(NodeReadingsTest, tell_how_busy_the_cores_were_between_two_looks) {
  NodeReadings source(machine_.root(), "");
  static_cast<void>(MUST(source.read()));
  machine_.add("proc/stat", "cpu  1050 20 310 5030 70 7 80 9 0 0\\ncpu0 1 1 1 1 1 1 1 1 0 0");
  const auto readings = MUST(source.read());
  // 60 ticks of work, 30 idle, 10 waiting for a disk.
  EXPECT_DOUBLE_EQ(values_of(readings, SubjectKind::kNode, "").at("cpu_utilisation_ratio"), 0.6);
}

TEST_F(NodeReadingsTest, fail_where_proc_is_not_mounted) {
  RecordedMachine bare;
  NodeReadings source(bare.root(), "");
  EXPECT_EQ(source.read().error().code, Code::kUnavailable);
}

TEST(NodeReadings, know_this_machine) {
  NodeReadings source("/", testing::TempDir());
  const auto readings = MUST(source.read());
  expect_known(readings);
  const Values node = values_of(readings, SubjectKind::kNode, "");
  EXPECT_EQ(node.at("cpus"), static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)));
  EXPECT_GT(node.at("memory_available_bytes"), 0);
  EXPECT_GT(node.at("state_disk_free_bytes"), 0);
}

TEST(NetworkReadings, tell_rdma_ports_in_bytes_though_they_count_words) {
  RecordedMachine machine("h100_ib");
  NetworkReadings source(machine.root());
  const auto readings = MUST(source.read());
  expect_known(readings);
  const Values port = values_of(readings, SubjectKind::kRdma, "mlx5_0/1");
  EXPECT_EQ(port.at("received_bytes"), 4.0 * 1073741824);
  EXPECT_EQ(port.at("falls"), 1);
  EXPECT_EQ(port.at("send_discards"), 2);
  EXPECT_EQ(port.at("send_waits"), 17);
  EXPECT_EQ(port.at("up"), 1);
  EXPECT_EQ(port.at("speed_bytes_per_s"), 5e10);
  size_t ports = 0;
  for (const Reading& reading : readings) ports += reading.subject.kind == SubjectKind::kRdma;
  EXPECT_EQ(ports, 11u);
}

TEST(NetworkReadings, leave_out_a_traffic_counter_that_has_stopped_at_its_end) {
  RecordedMachine machine;
  const std::string port = "sys/class/infiniband/mlx4_0/ports/1/";
  machine.add(port + "counters/port_rcv_data", "4294967295");
  machine.add(port + "counters/port_xmit_data", "4294967294");
  machine.add(port + "state", "1: DOWN");
  NetworkReadings source(machine.root());
  const Values expected = {{"sent_bytes", 4294967294.0 * 4}, {"up", 0}};
  EXPECT_EQ(values_of(MUST(source.read()), SubjectKind::kRdma, "mlx4_0/1"), expected);
}

TEST(NetworkReadings, tell_hardware_and_bonds_and_neither_software_nor_what_guests_have) {
  RecordedMachine machine;
  const auto add = [&](const std::string& name, const std::string& file, const std::string& text) {
    machine.add("sys/class/net/" + name + "/" + file, text);
  };
  for (const std::string name : {"eth0", "lo", "bond0", "vf0"}) {
    add(name, "statistics/rx_bytes", "12345");
  }
  add("eth0", "device/vendor", "0x15b3");
  add("eth0", "carrier", "1");
  add("eth0", "speed", "100000");
  add("eth0", "carrier_down_count", "4");
  add("bond0", "bonding/mode", "802.3ad 4");
  add("bond0", "speed", "-1");
  add("vf0", "device/vendor", "0x15b3");
  add("vf0", "device/physfn/vendor", "0x15b3");
  NetworkReadings source(machine.root());
  const auto readings = MUST(source.read());
  ASSERT_EQ(readings.size(), 2u);
  const Values expected = {{"received_bytes", 12345}, {"falls", 4}, {"up", 1},
                           {"speed_bytes_per_s", 1.25e10}};
  EXPECT_EQ(values_of(readings, SubjectKind::kNic, "eth0"), expected);
  const Values bond = {{"received_bytes", 12345}, {"up", 0}};
  EXPECT_EQ(values_of(readings, SubjectKind::kNic, "bond0"), bond);
}

TEST(WorkerReadings, understand_groups_of_both_versions) {
  RecordedMachine machine;
  machine.add("v2/cpu.stat", "usage_usec 2500000\\nuser_usec 2000000\\nsystem_usec 500000\\n"
                             "nr_throttled 3\\nthrottled_usec 1000000");
  machine.add("v2/memory.current", "1048576");
  machine.add("v2/memory.max", "max");
  machine.add("v2/memory.stat", "anon 524288\\nfile 1000");
  machine.add("v2/memory.events", "low 0\\noom 2\\noom_kill 1");
  machine.add("v2/io.stat", "8:0 rbytes=100 wbytes=200 rios=1\\n8:16 rbytes=1 wbytes=2 rios=1");
  const Values two = {{"cpu_seconds", 2.5}, {"cpu_user_seconds", 2}, {"cpu_system_seconds", 0.5},
                      {"cpu_throttled_seconds", 1}, {"memory_used_bytes", 1048576},
                      {"memory_resident_bytes", 524288}, {"oom_kills", 1}, {"read_bytes", 101},
                      {"written_bytes", 202}};
  EXPECT_EQ(read_worker_groups({machine.root() + "/v2"}), two);

  machine.add("cpu/cpuacct.usage", "2500000000");
  machine.add("memory/memory.usage_in_bytes", "4096");
  machine.add("memory/memory.limit_in_bytes", "8192");
  machine.add("memory/memory.oom_control", "oom_kill_disable 0\\nunder_oom 0\\noom_kill 2");
  machine.add("other/memory.limit_in_bytes", "9223372036854771712");
  const Values one = {{"cpu_seconds", 2.5}, {"memory_used_bytes", 4096},
                      {"memory_limit_bytes", 8192}, {"oom_kills", 2}};
  EXPECT_EQ(read_worker_groups({machine.root() + "/cpu", machine.root() + "/memory",
                                machine.root() + "/other"}), one);
}

TEST(WorkerReadings, ask_the_processes_for_what_no_group_counts) {
  Values values = {{"memory_resident_bytes", 7}};
  add_process_values({getpid(), 999'999'999}, values);
  EXPECT_EQ(values.at("processes"), 1);
  EXPECT_EQ(values.at("memory_resident_bytes"), 7) << "a group knows better";
  EXPECT_GE(values.at("cpu_seconds"), 0);
  Values none;
  add_process_values({999'999'999}, none);
  EXPECT_TRUE(none.empty());
}

TEST(WorkerReadings, add_up_what_a_worker_s_processes_hold_of_devices) {
  const std::vector<DeviceProcess> holders = {{41, mebibytes(100), 0.5}, {41, mebibytes(50), 0.25},
                                              {42, mebibytes(7), 0.0},   {43, {}, 1.0},
                                              {44, mebibytes(1), {}}};
  const auto told = [&](const std::vector<int64_t>& pids) {
    Values values;
    add_device_values(pids, holders, values);
    return values;
  };
  EXPECT_EQ(told({40, 41, 42}), (Values{{"device_memory_bytes", 157.0 * 1048576},
                                        {"devices_busy", 0.75}}));
  EXPECT_EQ(told({41, 43}), (Values{{"devices_busy", 1.75}})) << "a sum that lacks one is no sum";
  EXPECT_EQ(told({44}), (Values{{"device_memory_bytes", 1048576}}));
  EXPECT_TRUE(told({40}).empty()) << "it holds none";
}

TEST(WorkerReadings, find_the_workers_that_run) {
  RecordedMachine machine;
  const std::string workers = machine.root() + "/workers/";
  const auto add = [&](const std::string& key, const process::ProcessIdentity& shim) {
    ASSERT_TRUE(process::make_folders(workers + key).ok());
    process::RunningRecord running;
    running.shim = shim;
    ASSERT_TRUE(process::write_record(workers + key + "/running", running, false).ok());
  };
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  add("j7.1.0", process::identify(getpid()));  // this process is its shim, and `child` its program
  add("j7.1.1", process::identify(getpid()));
  std::ofstream(workers + "j7.1.1/end") << "ended";
  add("j7.1.2", {1, 1, "another boot"});
  ASSERT_TRUE(process::make_folders(workers + "j8.1.0").ok());  // has not begun
  WorkerReadings source(machine.root(), [child] {
    return std::vector<DeviceProcess>{{child, mebibytes(64), 0.5}, {1, mebibytes(3), 1.0}};
  });
  const auto readings = MUST(source.read());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  expect_known(readings);
  ASSERT_EQ(readings.size(), 1u);
  EXPECT_EQ(readings[0].subject, (Subject{SubjectKind::kWorker, "j7.1.0"}));
  EXPECT_GE(readings[0].values.at("processes"), 1);
  EXPECT_EQ(readings[0].values.at("device_memory_bytes"), 64.0 * 1048576);
  EXPECT_EQ(readings[0].values.at("devices_busy"), 0.5);
  EXPECT_GT(readings[0].values.at("memory_resident_bytes"), 0);
}

}  // namespace
}  // namespace keiko
