// The environment of a worker: what torchrun, MPI launchers and TensorFlow would have set, Keiko's
// own variables, and Slurm's look-alikes on request, so that any program finds the words it knows.
//
// Pure: what only the machine knows (paths, ports, the device drivers' variables) comes in as
// NodeTerms. The user's own variables win over ours, but for those that say who the worker is and
// which devices it sees (model/validate.h); what they hide is said.
//
// LOCAL_RANK counts among the devices that a worker sees, so that "cuda:LOCAL_RANK" is its own: a
// worker with accelerators sees its own alone, and is 0. Its place among the workers of its node is
// KEIKO_LOCAL_RANK, and what MPI and Slurm call it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/worker.h"

namespace keiko::node {

using Environment = std::map<std::string, std::string>;

/// What the machine adds to a launch.
struct NodeTerms {
  std::string node_name;
  std::string socket_path;   ///< KEIKO_SOCKET
  int32_t master_port = 0;   ///< of the gang, by launch or reserved here; 0: none is known
  Environment base;          ///< PATH, HOME and the like, of the agent itself
  Environment devices;       ///< from the device drivers: CUDA_VISIBLE_DEVICES and so on
};

struct WorkerEnvironment {
  Environment variables;
  /// Names of ours that the user set to something else, in order; the user's value is in force.
  std::vector<std::string> overridden;
  /// Names that are ours alone; the user's value is not. Only jobs of older versions have any.
  std::vector<std::string> refused;
};

/// RETURNS: the complete environment of the worker.
WorkerEnvironment environment_of(const WorkerLaunch& launch, const NodeTerms& terms);

/// Holds what the worker is told of its devices against what it was given: each variable names as
/// many as it has, those of one vendor do not contradict each other, and LOCAL_RANK is one of them.
/// RETURNS: kInternal naming the variable; a worker that starts so would take others' devices.
Done check_devices_told(const WorkerLaunch& launch, const Environment& variables);

/// torchrun's full set (torch/distributed/run.py), MASTER_* only where a port is known.
Environment torch_environment(const WorkerLaunch& launch, int32_t master_port);

/// What Open MPI, PMI, PMIx and Intel MPI tell their processes about rank and size.
Environment mpi_environment(const WorkerLaunch& launch);

/// RETURNS: TF_CONFIG's JSON for a cluster of workers alone; empty without a port, or where ports
/// would not suffice. Rank r listens at its node's address and port master_port + r: one number
/// for each rank, since several nodes may share an address. Only rank 0's is reserved.
std::string tf_config(const WorkerLaunch& launch, int32_t master_port);

Environment keiko_environment(const WorkerLaunch& launch, const NodeTerms& terms);

/// Only set on request: some programs change their behaviour when they see any of these.
Environment slurm_environment(const WorkerLaunch& launch, const std::string& node_name);

}  // namespace keiko::node
