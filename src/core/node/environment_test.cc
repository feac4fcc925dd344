#include "core/node/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keiko::node {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Key;
using testing::Not;
using testing::Pair;

/// Rank 2 of 3: nodes "a" with ranks 0 and 1 and "b" with rank 2; the third start of job 7.
WorkerLaunch example_launch() {
  WorkerLaunch launch;
  launch.key = {JobId{7}, 3, 2};
  launch.job_name = "train-gpt";
  launch.user = "ada";
  launch.workdir = "/home/ada/run";
  launch.cpu_milli = 1500;
  launch.devices = {Device{"cpu-b-1", "cpu", "cpu", 1, 0, {}, {}},
                    Device{"cpu-b-3", "cpu", "cpu", 3, 0, {}, {}}};
  launch.checkpoint_dir = "/data/ckpt";
  launch.resume_from = "/data/ckpt/step-40";
  launch.restarts_left = 1;
  launch.world_size = 3;
  launch.local_rank = 0;
  launch.local_world_size = 1;
  launch.group_rank = 1;
  launch.group_world_size = 2;
  launch.node_addresses = {"10.0.0.1", "10.0.0.2"};
  launch.node_names = {"a", "b"};
  launch.ranks_per_node = {2, 1};
  launch.master_address = "10.0.0.1";
  launch.master_port = 20100;
  return launch;
}

NodeTerms example_terms() {
  NodeTerms terms;
  terms.node_name = "b";
  terms.socket_path = "/state/workers/j7.3.2/socket";
  terms.master_port = 20100;
  terms.base = {{"PATH", "/usr/bin"}, {"HOME", "/root"}};
  return terms;
}

Environment full(const WorkerLaunch& launch) {
  return environment_of(launch, example_terms()).variables;
}

TEST(Environment, tells_torch_programs_all_that_torchrun_would) {
  EXPECT_THAT(full(example_launch()),
              IsSupersetOf(Environment{
                  {"RANK", "2"},
                  {"LOCAL_RANK", "0"},
                  {"WORLD_SIZE", "3"},
                  {"LOCAL_WORLD_SIZE", "1"},
                  {"GROUP_RANK", "1"},
                  {"GROUP_WORLD_SIZE", "2"},
                  {"ROLE_RANK", "2"},
                  {"ROLE_WORLD_SIZE", "3"},
                  {"ROLE_NAME", "default"},
                  {"MASTER_ADDR", "10.0.0.1"},
                  {"MASTER_PORT", "20100"},
                  {"TORCHELASTIC_RUN_ID", "j7"},
                  {"TORCHELASTIC_RESTART_COUNT", "2"},
                  {"TORCHELASTIC_MAX_RESTARTS", "3"},
                  {"TORCHELASTIC_USE_AGENT_STORE", "False"},
                  {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
                  {"OMP_NUM_THREADS", "1"},
              }));
}

TEST(Environment, tells_mpi_programs_their_rank_and_size) {
  EXPECT_THAT(full(example_launch()), IsSupersetOf(Environment{
                                          {"OMPI_COMM_WORLD_RANK", "2"},
                                          {"OMPI_COMM_WORLD_SIZE", "3"},
                                          {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
                                          {"OMPI_COMM_WORLD_NODE_RANK", "0"},
                                          {"PMI_RANK", "2"},
                                          {"PMI_SIZE", "3"},
                                          {"PMIX_RANK", "2"},
                                          {"MPI_LOCALRANKID", "0"},
                                          {"MPI_LOCALNRANKS", "1"},
                                      }));
}

TEST(Environment, tells_tensorflow_every_worker_at_a_port_of_its_own) {
  EXPECT_EQ(full(example_launch())["TF_CONFIG"],
            R"({"cluster":{"worker":["10.0.0.1:20100","10.0.0.1:20101","10.0.0.2:20102"]},)"
            R"("task":{"type":"worker","index":2}})");
}

TEST(Environment, has_no_tensorflow_cluster_whose_ports_would_not_exist) {
  EXPECT_EQ(tf_config(example_launch(), 65534), "");
  EXPECT_NE(tf_config(example_launch(), 65533), "");
}

TEST(Environment, names_no_master_before_there_is_a_port) {
  NodeTerms terms = example_terms();
  terms.master_port = 0;
  const Environment env = environment_of(example_launch(), terms).variables;
  EXPECT_THAT(env, Not(Contains(Key("MASTER_PORT"))));
  EXPECT_THAT(env, Not(Contains(Key("MASTER_ADDR"))));
  EXPECT_THAT(env, Not(Contains(Key("TF_CONFIG"))));
}

TEST(Environment, carries_keikos_own_words) {
  EXPECT_THAT(full(example_launch()), IsSupersetOf(Environment{
                                          {"KEIKO_JOB_ID", "j7"},
                                          {"KEIKO_JOB_NAME", "train-gpt"},
                                          {"KEIKO_ATTEMPT", "3"},
                                          {"KEIKO_RANK", "2"},
                                          {"KEIKO_WORLD_SIZE", "3"},
                                          {"KEIKO_LOCAL_RANK", "0"},
                                          {"KEIKO_NODE", "b"},
                                          {"KEIKO_NODE_RANK", "1"},
                                          {"KEIKO_NODE_COUNT", "2"},
                                          {"KEIKO_NODE_ADDRESSES", "10.0.0.1,10.0.0.2"},
                                          {"KEIKO_DEVICES", "cpu-b-1,cpu-b-3"},
                                          {"KEIKO_CHECKPOINT_DIR", "/data/ckpt"},
                                          {"KEIKO_RESUME_FROM", "/data/ckpt/step-40"},
                                          {"KEIKO_SOCKET", "/state/workers/j7.3.2/socket"},
                                      }));
}

TEST(Environment, has_nothing_to_resume_from_in_a_first_attempt) {
  WorkerLaunch launch = example_launch();
  launch.resume_from.clear();
  launch.checkpoint_dir.clear();
  EXPECT_THAT(full(launch), Not(Contains(Key("KEIKO_RESUME_FROM"))));
  EXPECT_THAT(full(launch), Not(Contains(Key("KEIKO_CHECKPOINT_DIR"))));
}

TEST(Environment, speaks_slurm_only_on_request) {
  for (const auto& [name, value] : full(example_launch())) {
    EXPECT_NE(name.rfind("SLURM", 0), 0u) << name;
  }
}

TEST(Environment, tells_slurm_scripts_where_they_are) {
  WorkerLaunch launch = example_launch();
  launch.slurm_env = true;
  EXPECT_THAT(full(launch), IsSupersetOf(Environment{
                                {"SLURM_JOB_ID", "7"},
                                {"SLURM_JOB_NAME", "train-gpt"},
                                {"SLURM_JOB_NODELIST", "a,b"},
                                {"SLURM_JOB_NUM_NODES", "2"},
                                {"SLURM_NNODES", "2"},
                                {"SLURM_NTASKS", "3"},
                                {"SLURM_NPROCS", "3"},
                                {"SLURM_TASKS_PER_NODE", "2,1"},
                                {"SLURM_PROCID", "2"},
                                {"SLURM_LOCALID", "0"},
                                {"SLURM_NODEID", "1"},
                                {"SLURM_GTIDS", "2"},
                                {"SLURM_STEP_ID", "0"},
                                {"SLURM_CPUS_PER_TASK", "2"},
                                {"SLURM_GPUS", "6"},
                                {"SLURM_GPUS_ON_NODE", "2"},
                                {"SLURM_JOB_GPUS", "1,3"},
                                {"SLURM_RESTART_COUNT", "2"},
                                {"SLURM_SUBMIT_DIR", "/home/ada/run"},
                                {"SLURMD_NODENAME", "b"},
                            }));
  EXPECT_THAT(full(launch), Not(Contains(Key("SLURM_NTASKS_PER_NODE"))));
}

TEST(Environment, counts_slurm_tasks_per_node_where_they_are_even) {
  WorkerLaunch launch = example_launch();
  launch.slurm_env = true;
  launch.ranks_per_node = {2, 2, 2};
  EXPECT_THAT(full(launch), Contains(Pair("SLURM_NTASKS_PER_NODE", "2")));
  EXPECT_THAT(full(launch), Contains(Pair("SLURM_TASKS_PER_NODE", "2(x3)")));
}

TEST(Environment, makes_the_devices_visible_as_their_driver_says) {
  NodeTerms terms = example_terms();
  terms.devices = {{"CUDA_VISIBLE_DEVICES", "GPU-1"}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  EXPECT_THAT(environment_of(example_launch(), terms).variables, IsSupersetOf(terms.devices));
}

TEST(Environment, lets_the_users_variables_win_and_says_which_of_ours_they_hide) {
  WorkerLaunch launch = example_launch();
  launch.env = {{"PATH", "/opt/bin"}, {"OMP_NUM_THREADS", "8"}, {"TF_CONFIG", "{}"},
                {"LEARNING_RATE", "0.1"}, {"PMI_RANK", "2"}};
  const WorkerEnvironment env = environment_of(launch, example_terms());
  EXPECT_THAT(env.variables, IsSupersetOf(launch.env));
  EXPECT_THAT(env.overridden, ElementsAre("TF_CONFIG"));
  EXPECT_THAT(env.refused, IsEmpty());
}

// A job that an older server took may still bring them.
TEST(Environment, keeps_to_itself_which_devices_a_worker_sees_and_who_it_is) {
  WorkerLaunch launch = example_launch();
  launch.env = {{"CUDA_VISIBLE_DEVICES", "0"}, {"HIP_VISIBLE_DEVICES", "0"}, {"MASTER_PORT", "1"},
                {"RANK", "2"}};
  NodeTerms terms = example_terms();
  terms.devices = {{"CUDA_VISIBLE_DEVICES", "GPU-1,GPU-2"}};
  const WorkerEnvironment env = environment_of(launch, terms);
  EXPECT_THAT(env.variables, Contains(Pair("CUDA_VISIBLE_DEVICES", "GPU-1,GPU-2")));
  EXPECT_THAT(env.variables, Contains(Pair("MASTER_PORT", "20100")));
  EXPECT_THAT(env.variables, Not(Contains(Key("HIP_VISIBLE_DEVICES"))));
  EXPECT_THAT(env.refused,
              ElementsAre("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "MASTER_PORT"))
      << "RANK is what it would have been";
}

WorkerLaunch with_gpus(const std::vector<std::string>& uuids) {
  WorkerLaunch launch = example_launch();
  launch.devices.clear();
  for (const std::string& uuid : uuids) {
    launch.devices.push_back(Device{uuid, "h100", "nvidia", 0, 0, {}, {}});
  }
  launch.local_rank = 1;
  launch.local_world_size = 2;
  return launch;
}

// Complaints 17 and 18: "every rank binds GPU 0"; local rank against visible index.
TEST(Environment, counts_the_local_rank_among_the_devices_that_the_worker_sees) {
  const WorkerLaunch launch = with_gpus({"GPU-1"});
  NodeTerms terms = example_terms();
  terms.devices = {{"CUDA_VISIBLE_DEVICES", "GPU-1"}};
  const Environment env = environment_of(launch, terms).variables;
  EXPECT_EQ(env.at("LOCAL_RANK"), "0") << "cuda:0 is the only one there is";
  EXPECT_EQ(env.at("LOCAL_WORLD_SIZE"), "2");
  EXPECT_EQ(env.at("KEIKO_LOCAL_RANK"), "1");
  EXPECT_EQ(env.at("OMPI_COMM_WORLD_LOCAL_RANK"), "1");
  EXPECT_TRUE(check_devices_told(launch, env).ok());

  WorkerLaunch without = launch;
  without.devices.clear();
  EXPECT_EQ(full(without)["LOCAL_RANK"], "1") << "nothing to count among";
}

TEST(Environment, is_wrong_where_it_shows_other_devices_than_the_worker_was_given) {
  const WorkerLaunch launch = with_gpus({"GPU-1", "GPU-2"});
  const auto told = [&](const Environment& variables) {
    const Done outcome = check_devices_told(launch, variables);
    return outcome.ok() ? std::string() : outcome.error().message;
  };
  EXPECT_EQ(told({{"CUDA_VISIBLE_DEVICES", "GPU-1,GPU-2"}, {"LOCAL_RANK", "1"}}), "");
  EXPECT_THAT(told({{"CUDA_VISIBLE_DEVICES", "GPU-1"}}), HasSubstr("CUDA_VISIBLE_DEVICES"));
  EXPECT_THAT(told({{"ROCR_VISIBLE_DEVICES", "GPU-1,GPU-2"}, {"HIP_VISIBLE_DEVICES", "0"}}),
              HasSubstr("HIP_VISIBLE_DEVICES"));
  EXPECT_THAT(told({{"LOCAL_RANK", "2"}}), HasSubstr("LOCAL_RANK"));

  WorkerLaunch none = launch;
  none.devices.clear();
  for (const char* nothing : {"", "-1", "none", "9999"}) {
    EXPECT_TRUE(check_devices_told(none, {{"ZE_AFFINITY_MASK", nothing}}).ok()) << nothing;
  }
  EXPECT_FALSE(check_devices_told(none, {{"ZE_AFFINITY_MASK", "0"}}).ok());
}

TEST(Environment, keeps_what_the_agent_gives_as_a_base) {
  EXPECT_THAT(full(example_launch()),
              IsSupersetOf(Environment{{"PATH", "/usr/bin"}, {"HOME", "/root"}}));
}

}  // namespace
}  // namespace keiko::node
