#include "core/node/environment.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "model/validate.h"

namespace keiko::node {
namespace {

constexpr int32_t kLastPort = 65535;

std::string text_of(int64_t number) { return std::to_string(number); }

std::string uuids_of(const std::vector<Device>& devices) {
  std::vector<std::string> uuids;
  for (const Device& device : devices) uuids.push_back(device.uuid);
  return join(uuids, ",");
}

/// RETURNS: the address of every rank's node, in rank order.
std::vector<std::string> address_of_ranks(const WorkerLaunch& launch) {
  std::vector<std::string> addresses;
  for (size_t node = 0; node < launch.node_addresses.size(); ++node) {
    const int32_t ranks = node < launch.ranks_per_node.size() ? launch.ranks_per_node[node] : 0;
    addresses.insert(addresses.end(), static_cast<size_t>(std::max(ranks, 0)),
                     launch.node_addresses[node]);
  }
  return addresses;
}

bool has_accelerators(const WorkerLaunch& launch) {
  return std::any_of(launch.devices.begin(), launch.devices.end(),
                     [](const Device& device) { return device.vendor != "cpu"; });
}

/// Variables that are a list of devices. Those of a vendor are all obeyed, one inside the other.
constexpr const char* kDeviceLists[] = {
    "CUDA_VISIBLE_DEVICES",   "ROCR_VISIBLE_DEVICES",   "HIP_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",       "HABANA_VISIBLE_DEVICES", "HABANA_VISIBLE_MODULES",
    "TPU_VISIBLE_CHIPS",      "TPU_VISIBLE_DEVICES",    "KEIKO_VISIBLE_DEVICES"};

/// How vendors write a list of none where an empty one would mean all.
constexpr const char* kNoDevices[] = {"", "-1", "none", "9999"};

size_t count_listed(const std::string& list) {
  const bool none = std::any_of(std::begin(kNoDevices), std::end(kNoDevices),
                                [&](const char* word) { return list == word; });
  return none ? 0 : split(list, ',').size();
}

}  // namespace

Done check_devices_told(const WorkerLaunch& launch, const Environment& variables) {
  const size_t given = launch.devices.size();
  for (const char* const name : kDeviceLists) {
    const auto list = variables.find(name);
    if (list == variables.end() || count_listed(list->second) == given) continue;
    return internal_error(std::string(name) + " would be " + quote_text(list->second) +
                          " for a worker with " + text_of(static_cast<int64_t>(given)) +
                          " devices; report this with the output of keiko topology");
  }
  const auto local_rank = variables.find("LOCAL_RANK");
  if (!has_accelerators(launch) || local_rank == variables.end()) return done();
  uint64_t place = 0;
  if (parse_digits(local_rank->second, place) && place < given) return done();
  return internal_error("LOCAL_RANK would be " + quote_text(local_rank->second) +
                        " for a worker that sees " + text_of(static_cast<int64_t>(given)) +
                        " devices");
}

WorkerEnvironment environment_of(const WorkerLaunch& launch, const NodeTerms& terms) {
  Environment ours = terms.base;
  const auto add = [&ours](const Environment& layer) {
    for (const auto& [name, value] : layer) ours[name] = value;
  };
  add(torch_environment(launch, terms.master_port));
  // One thread a rank unless somebody knows better, as torchrun does: ranks share the cores.
  ours.emplace("OMP_NUM_THREADS", "1");
  add(mpi_environment(launch));
  if (const std::string config = tf_config(launch, terms.master_port); !config.empty()) {
    ours["TF_CONFIG"] = config;
  }
  add(keiko_environment(launch, terms));
  if (launch.slurm_env) add(slurm_environment(launch, terms.node_name));
  add(terms.devices);

  WorkerEnvironment result{std::move(ours), {}, {}};
  for (const auto& [name, value] : launch.env) {
    const auto known = result.variables.find(name);
    if (reserved(name) != Reserved::kNo) {
      if (known == result.variables.end() || known->second != value) result.refused.push_back(name);
      continue;
    }
    const bool is_of_ours = known != result.variables.end() && !terms.base.contains(name) &&
                            name != "OMP_NUM_THREADS";
    if (is_of_ours && known->second != value) result.overridden.push_back(name);
    result.variables[name] = value;
  }
  return result;
}

Environment torch_environment(const WorkerLaunch& launch, int32_t master_port) {
  const int32_t restarts = std::max(launch.key.attempt - 1, 0);
  Environment env{
      {"RANK", text_of(launch.key.rank)},
      {"LOCAL_RANK", text_of(has_accelerators(launch) ? 0 : launch.local_rank)},
      {"WORLD_SIZE", text_of(launch.world_size)},
      {"LOCAL_WORLD_SIZE", text_of(launch.local_world_size)},
      {"GROUP_RANK", text_of(launch.group_rank)},
      {"GROUP_WORLD_SIZE", text_of(launch.group_world_size)},
      {"ROLE_RANK", text_of(launch.key.rank)},
      {"ROLE_WORLD_SIZE", text_of(launch.world_size)},
      {"ROLE_NAME", "default"},
      {"TORCHELASTIC_RUN_ID", to_text(launch.key.job)},
      {"TORCHELASTIC_RESTART_COUNT", text_of(restarts)},
      {"TORCHELASTIC_MAX_RESTARTS", text_of(int64_t{restarts} + launch.restarts_left)},
      {"TORCHELASTIC_USE_AGENT_STORE", "False"},
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
  };
  if (master_port != 0) {
    env["MASTER_ADDR"] = launch.master_address;
    env["MASTER_PORT"] = text_of(master_port);
  }
  return env;
}

Environment mpi_environment(const WorkerLaunch& launch) {
  const std::string rank = text_of(launch.key.rank);
  const std::string size = text_of(launch.world_size);
  const std::string local_rank = text_of(launch.local_rank);
  const std::string local_size = text_of(launch.local_world_size);
  return {
      {"OMPI_COMM_WORLD_RANK", rank},
      {"OMPI_COMM_WORLD_SIZE", size},
      {"OMPI_COMM_WORLD_LOCAL_RANK", local_rank},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", local_size},
      {"OMPI_COMM_WORLD_NODE_RANK", local_rank},  // Open MPI's word for: among those of its node
      {"PMI_RANK", rank},
      {"PMI_SIZE", size},
      {"PMIX_RANK", rank},
      {"MPI_LOCALRANKID", local_rank},
      {"MPI_LOCALNRANKS", local_size},
  };
}

std::string tf_config(const WorkerLaunch& launch, int32_t master_port) {
  const std::vector<std::string> addresses = address_of_ranks(launch);
  const size_t size = addresses.size();
  if (master_port == 0 || size != static_cast<size_t>(launch.world_size)) return {};
  if (size > static_cast<size_t>(kLastPort - master_port) + 1) return {};
  std::vector<std::string> workers;
  for (size_t rank = 0; rank < size; ++rank) {
    const int64_t port = master_port + static_cast<int64_t>(rank);
    workers.push_back(quote_text(addresses[rank] + ":" + text_of(port)));
  }
  return R"({"cluster":{"worker":[)" + join(workers, ",") +
         R"(]},"task":{"type":"worker","index":)" + text_of(launch.key.rank) + "}}";
}

Environment keiko_environment(const WorkerLaunch& launch, const NodeTerms& terms) {
  Environment env{
      {"KEIKO_JOB_ID", to_text(launch.key.job)},
      {"KEIKO_JOB_NAME", launch.job_name},
      {"KEIKO_ATTEMPT", text_of(launch.key.attempt)},
      {"KEIKO_RANK", text_of(launch.key.rank)},
      {"KEIKO_WORLD_SIZE", text_of(launch.world_size)},
      {"KEIKO_LOCAL_RANK", text_of(launch.local_rank)},
      {"KEIKO_NODE", terms.node_name},
      {"KEIKO_NODE_RANK", text_of(launch.group_rank)},
      {"KEIKO_NODE_COUNT", text_of(launch.group_world_size)},
      {"KEIKO_NODE_ADDRESSES", join(launch.node_addresses, ",")},
      {"KEIKO_DEVICES", uuids_of(launch.devices)},
      {"KEIKO_SOCKET", terms.socket_path},
  };
  if (!launch.checkpoint_dir.empty()) env["KEIKO_CHECKPOINT_DIR"] = launch.checkpoint_dir;
  if (!launch.resume_from.empty()) env["KEIKO_RESUME_FROM"] = launch.resume_from;
  return env;
}

}  // namespace keiko::node
