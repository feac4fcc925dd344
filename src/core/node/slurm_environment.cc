// Slurm's look-alikes, for scripts that ask Slurm's variables where they are. Meanings after
// srun(1), "OUTPUT ENVIRONMENT VARIABLES".
#include <algorithm>

#include "core/node/environment.h"

namespace keiko::node {
namespace {

/// RETURNS: Slurm's run-length form of tasks per node: "2(x3),1".
std::string tasks_per_node(const std::vector<int32_t>& counts) {
  std::vector<std::string> runs;
  for (size_t at = 0; at < counts.size();) {
    size_t end = at;
    while (end < counts.size() && counts[end] == counts[at]) ++end;
    const std::string repeats = end - at > 1 ? "(x" + std::to_string(end - at) + ")" : "";
    runs.push_back(std::to_string(counts[at]) + repeats);
    at = end;
  }
  return join(runs, ",");
}

/// RETURNS: the ranks on this worker's node.
std::string ranks_of_node(const WorkerLaunch& launch) {
  const int32_t first = launch.key.rank - launch.local_rank;
  std::vector<std::string> ranks;
  for (int32_t i = 0; i < launch.local_world_size; ++i) ranks.push_back(std::to_string(first + i));
  return join(ranks, ",");
}

std::string device_indices(const std::vector<Device>& devices) {
  std::vector<std::string> indices;
  for (const Device& device : devices) indices.push_back(std::to_string(device.index));
  return join(indices, ",");
}

void add_devices(const WorkerLaunch& launch, Environment& env) {
  if (launch.devices.empty()) return;
  const int64_t each = static_cast<int64_t>(launch.devices.size());
  env["SLURM_GPUS"] = std::to_string(each * launch.world_size);
  env["SLURM_GPUS_ON_NODE"] = std::to_string(each * launch.local_world_size);
  env["SLURM_GPUS_PER_TASK"] = std::to_string(each);
  env["SLURM_JOB_GPUS"] = device_indices(launch.devices);
  env["SLURM_STEP_GPUS"] = device_indices(launch.devices);
}

}  // namespace

Environment slurm_environment(const WorkerLaunch& launch, const std::string& node_name) {
  const std::string job = std::to_string(launch.key.job.number);
  const std::string nodes = std::to_string(launch.group_world_size);
  const std::string tasks = std::to_string(launch.world_size);
  const std::string names = join(launch.node_names, ",");
  const int64_t cores = std::max<int64_t>((launch.cpu_milli + 999) / 1000, 1);
  Environment env{
      {"SLURM_JOB_ID", job},
      {"SLURM_JOBID", job},
      {"SLURM_JOB_NAME", launch.job_name},
      {"SLURM_JOB_NODELIST", names},
      {"SLURM_NODELIST", names},
      {"SLURM_STEP_NODELIST", names},
      {"SLURM_JOB_NUM_NODES", nodes},
      {"SLURM_NNODES", nodes},
      {"SLURM_STEP_NUM_NODES", nodes},
      {"SLURM_NTASKS", tasks},
      {"SLURM_NPROCS", tasks},
      {"SLURM_STEP_NUM_TASKS", tasks},
      {"SLURM_TASKS_PER_NODE", tasks_per_node(launch.ranks_per_node)},
      {"SLURM_PROCID", std::to_string(launch.key.rank)},
      {"SLURM_LOCALID", std::to_string(launch.local_rank)},
      {"SLURM_NODEID", std::to_string(launch.group_rank)},
      {"SLURM_GTIDS", ranks_of_node(launch)},
      {"SLURM_STEP_ID", "0"},
      {"SLURM_CPUS_PER_TASK", std::to_string(cores)},
      {"SLURM_CPUS_ON_NODE", std::to_string(cores * launch.local_world_size)},
      {"SLURM_RESTART_COUNT", std::to_string(std::max(launch.key.attempt - 1, 0))},
      {"SLURM_SUBMIT_DIR", launch.workdir},
      {"SLURM_JOB_USER", launch.user},
      {"SLURM_CLUSTER_NAME", "keiko"},
      {"SLURMD_NODENAME", node_name},
  };
  const std::vector<int32_t>& counts = launch.ranks_per_node;
  const bool even = !counts.empty() && std::all_of(counts.begin(), counts.end(), [&](int32_t n) {
    return n == counts[0];
  });
  if (even) env["SLURM_NTASKS_PER_NODE"] = std::to_string(counts[0]);
  add_devices(launch, env);
  return env;
}

}  // namespace keiko::node
