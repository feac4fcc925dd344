#include "telemetry/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>


#include "base/text.h"
#include "telemetry/catalogue.h"

namespace keiko::telemetry {
namespace {

using testing::HasSubstr;
using testing::Not;

Device gpu(int index) {
  Device device;
  device.uuid = "GPU-" + std::to_string(index);
  device.kind = "h100";
  device.vendor = "nvidia";
  device.index = index;
  device.pci_address = "0000:3b:00.0";
  device.product = "NVIDIA H100 80GB HBM3";
  device.driver_version = "550.54.15";
  device.files = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia" + std::to_string(index)};
  return device;
}

ExpositionTerms terms() { return {"n1", {gpu(0), gpu(1)}, {}}; }

Reading reading(int index, Values values) {
  return {{SubjectKind::kDevice, "GPU-" + std::to_string(index)}, std::move(values)};
}

TEST(Exposition, shows_a_device_under_our_name_and_under_dcgm_s) {
  const std::string text = exposition({reading(1, {{"utilisation_ratio", 0.29}})}, terms());
  EXPECT_THAT(text, HasSubstr("# TYPE keiko_device_utilisation_ratio gauge\n"
                              "keiko_device_utilisation_ratio{node=\"n1\",device=\"1\","
                              "uuid=\"GPU-1\",kind=\"h100\"} 0.29\n"));
  EXPECT_THAT(
      text,
      HasSubstr("# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
                "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",UUID=\"GPU-1\",pci_bus_id=\"00000000:3B:00.0\","
                "device=\"nvidia1\",modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"n1\","
                "DCGM_FI_DRIVER_VERSION=\"550.54.15\"} 29\n"));
}

TEST(Exposition, leaves_out_what_a_device_does_not_tell) {
  const std::string text = exposition(
      {reading(0, {{"power_watts", std::nan("")}}), reading(1, {{"power_watts", 650.5}})}, terms());
  EXPECT_THAT(text, HasSubstr("keiko_device_power_watts{node=\"n1\",device=\"1\""));
  EXPECT_THAT(text, Not(HasSubstr("keiko_device_power_watts{node=\"n1\",device=\"0\"")));
  EXPECT_THAT(text, Not(HasSubstr("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"")));
  EXPECT_THAT(text, Not(HasSubstr("temperature")));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(Exposition, gives_dcgm_its_units) {
  const std::string text = exposition({reading(0, {{"memory_used_bytes", 70000.0 * 1048576},
                                                   {"energy_joules", 5000000.001},
                                                   {"sm_clock_mhz", 1980},
                                                   {"tensor_active_ratio", 0.125}})},
                                      terms());
  const auto value_of = [&](const std::string& name) {
    const size_t begin = text.find("\n" + name + "{");
    const size_t space = text.find("} ", begin);
    return text.substr(space + 2, text.find('\n', space) - space - 2);
  };
  EXPECT_EQ(value_of("DCGM_FI_DEV_FB_USED"), "70000");
  EXPECT_EQ(value_of("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"), "5000000001");
  EXPECT_EQ(value_of("DCGM_FI_DEV_SM_CLOCK"), "1980");
  EXPECT_EQ(value_of("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"), "0.125");
  EXPECT_EQ(value_of("keiko_device_core_clock_hertz"), "1.98e+09");
  EXPECT_EQ(value_of("keiko_device_energy_joules_total"), "5000000.001");
}

TEST(Exposition, shows_the_last_xid_for_boards_and_counts_each_for_alerts) {
  ExpositionTerms with = terms();
  with.xids["GPU-1"] = {79, "fell off the \"bus\"", {{31, 2}, {79, 1}}};
  const std::string text = exposition({}, with);
  EXPECT_THAT(text, HasSubstr("err_code=\"0\",err_msg=\"No Error\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("err_code=\"79\",err_msg=\"fell off the \\\"bus\\\"\"} 79\n"));
  EXPECT_THAT(text, HasSubstr("uuid=\"GPU-1\",kind=\"h100\",xid=\"31\"} 2\n"));
}

TEST(Exposition, gives_dcgm_names_to_nvidia_alone) {
  ExpositionTerms with = terms();
  with.devices[0].vendor = "amd";
  const std::string text = exposition({reading(0, {{"power_watts", 500}})}, with);
  EXPECT_THAT(text, HasSubstr("keiko_device_power_watts"));
  EXPECT_THAT(text, Not(HasSubstr("DCGM_FI_DEV_POWER_USAGE")));
}

TEST(Exposition, counts_slices_of_one_gpu_as_one_gpu_and_names_their_profile) {
  ExpositionTerms with = terms();
  with.devices = {gpu(0), gpu(1), gpu(2)};
  for (int i : {0, 1}) {
    with.devices[static_cast<size_t>(i)].parent_uuid = "GPU-parent";
    with.devices[static_cast<size_t>(i)].mig_profile = "3g.20gb";
  }
  const std::string text = exposition({}, with);
  EXPECT_THAT(text, HasSubstr("{gpu=\"0\",UUID=\"GPU-0\""));
  EXPECT_THAT(text, HasSubstr("{gpu=\"0\",UUID=\"GPU-1\""));
  EXPECT_THAT(text, HasSubstr("{gpu=\"1\",UUID=\"GPU-2\""));
  EXPECT_THAT(text, HasSubstr("GPU_I_PROFILE=\"3g.20gb\""));
}

/// The slice of a GPU, and the terms that it stands in.
ExpositionTerms split_terms() {
  ExpositionTerms with = terms();
  with.devices.resize(1);
  with.devices[0].kind = "a100-3g.20gb";
  with.devices[0].parent_uuid = "GPU-parent";
  with.devices[0].mig_profile = "3g.20gb";
  with.gpu_instances["GPU-0"] = 2;
  return with;
}

TEST(Exposition, tells_slices_apart_by_profile_and_instance_under_both_names) {
  const std::string text = exposition({reading(0, {{"memory_used_bytes", 1048576}})},
                                      split_terms());
  EXPECT_THAT(text, HasSubstr("keiko_device_memory_used_bytes{node=\"n1\",device=\"0\","
                              "uuid=\"GPU-0\",kind=\"a100-3g.20gb\",mig_profile=\"3g.20gb\","
                              "gpu_instance=\"2\"} 1048576\n"));
  EXPECT_THAT(text, HasSubstr("GPU_I_PROFILE=\"3g.20gb\",GPU_I_ID=\"2\",Hostname=\"n1\","
                              "DCGM_FI_DRIVER_VERSION=\"550.54.15\"} 1\n"));
  EXPECT_THAT(exposition({}, terms()), Not(HasSubstr("GPU_I_")));
}

TEST(Exposition, shows_an_xid_of_a_split_gpu_on_its_slices_and_counts_it_once) {
  ExpositionTerms with = split_terms();
  with.xids["GPU-parent"] = {79, "gone", {{79, 1}}};
  with.xids["0000:c1:00.0"] = {62, "of a GPU that never answered", {{62, 3}}};
  const std::string text = exposition({}, with);
  EXPECT_THAT(text, HasSubstr("err_code=\"79\",err_msg=\"gone\"} 79\n"));
  EXPECT_THAT(text, HasSubstr("keiko_device_xids_total{node=\"n1\",uuid=\"GPU-parent\","
                              "xid=\"79\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("keiko_device_xids_total{node=\"n1\",pci=\"0000:c1:00.0\","
                              "xid=\"62\"} 3\n"));
  EXPECT_THAT(text, Not(HasSubstr("uuid=\"GPU-0\",kind=\"a100-3g.20gb\",mig_profile=\"3g.20gb\","
                                  "gpu_instance=\"2\",xid=")));
}

TEST(Exposition, names_the_job_and_the_rank_of_a_worker) {
  const Reading worker{{SubjectKind::kWorker, "j7.2.13"},
                       {{"device_memory_bytes", 3221225472}, {"devices_busy", 1.25}}};
  const std::string text = exposition({worker}, terms());
  EXPECT_THAT(text, HasSubstr("keiko_worker_device_memory_bytes{node=\"n1\",job=\"j7\","
                              "rank=\"13\",worker=\"j7.2.13\"} 3221225472\n"));
  EXPECT_THAT(text, HasSubstr("keiko_worker_devices_busy{node=\"n1\",job=\"j7\",rank=\"13\","
                              "worker=\"j7.2.13\"} 1.25\n"));
}

TEST(Exposition, writes_numbers_so_that_nothing_is_lost) {
  EXPECT_EQ(number_text(9007199254740991.0), "9007199254740991");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(-0.0), "0");
}

/// Everything that the catalogue has, for every kind of subject.
std::string all_there_is() {
  std::vector<Reading> readings;
  const std::pair<SubjectKind, std::string> kSubjects[] = {
      {SubjectKind::kNode, ""},      {SubjectKind::kDevice, "GPU-0"},
      {SubjectKind::kDevice, "GPU-1"}, {SubjectKind::kWorker, "j7.1.0"},
      {SubjectKind::kNic, "eth0"},   {SubjectKind::kRdma, "mlx5_0/1"},
      {SubjectKind::kDisk, "nvme0n1"}};
  for (const auto& [kind, id] : kSubjects) {
    Reading reading{{kind, id}, {}};
    for (const MetricRow& row : catalogue()) {
      if (row.subject == kind) reading.values[row.reading] = 1.5;
    }
    readings.push_back(std::move(reading));
  }
  ExpositionTerms with = terms();
  with.xids["GPU-0"] = {31, "a \\ page\nfault", {{31, 1}}};
  with.xids["0000:c1:00.0"] = {62, "halt", {{62, 1}}};
  with.devices[1].parent_uuid = "GPU-parent";
  with.devices[1].mig_profile = "1g.10gb";
  with.gpu_instances["GPU-1"] = 7;
  return exposition(readings, with);
}

/// RETURNS: what `promtool check metrics` says of a text, and its exit status.
std::pair<std::string, int> ask_promtool(const std::string& text) {
  const std::string file = testing::TempDir() + "keiko_metrics_" + std::to_string(getpid());
  std::ofstream(file) << text;
  FILE* const tool = popen(("promtool check metrics <" + file + " 2>&1").c_str(), "r");
  std::string said;
  char buffer[4096];
  for (size_t got = 0; (got = fread(buffer, 1, sizeof buffer, tool)) > 0;) said.append(buffer, got);
  const int status = pclose(tool);
  std::remove(file.c_str());
  return {said, WEXITSTATUS(status)};
}

TEST(Exposition, has_nothing_that_promtool_would_blame_but_what_dcgm_s_names_ask_for) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "promtool is not installed; ./dev setup test installs it";
  }
  const auto [said, status] = ask_promtool(all_there_is());
  // 1 means that it could not be read at all, 3 that a name offends the conventions.
  ASSERT_TRUE(status == 0 || status == 3) << said;
  for (const std::string& line : split(said, '\n')) {
    EXPECT_TRUE(line.empty() || line.rfind("DCGM_FI_", 0) == 0) << line;
  }
}

}  // namespace
}  // namespace keiko::telemetry
