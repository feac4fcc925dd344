// A worker: one process of a job's attempt on one node.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/fields.h"
#include "model/device.h"
#include "model/mount.h"

namespace keiko {

/// Names one worker for all time: a job keeps its id, each start is another attempt.
struct WorkerKey {
  JobId job;
  int32_t attempt = 0;  ///< from 1
  int32_t rank = 0;     ///< 0..world size - 1

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "job", s.job);
    v(2, "attempt", s.attempt);
    v(3, "rank", s.rank);
  }
  friend constexpr auto operator<=>(const WorkerKey&, const WorkerKey&) = default;
};
std::string to_text(const WorkerKey& key);  ///< "j7.2.0": job, attempt, rank
Result<WorkerKey> parse_worker_key(std::string_view text);

/// Everything an agent needs to start one worker. The environment of torchrun, MPI and TensorFlow
/// follows from it by core/node/environment.h, so that it is made in one place and testable.
struct WorkerLaunch {
  WorkerKey key;
  std::string job_name;
  std::string user;
  std::vector<std::string> command;
  std::map<std::string, std::string> env;   ///< the user's own, wins over ours
  std::string workdir;
  std::vector<Device> devices;              ///< given to this worker, in index order
  int64_t cpu_milli = 0;
  Bytes memory;
  Duration grace;
  Bytes log_limit;
  bool slurm_env = false;
  std::string checkpoint_dir;
  std::string resume_from;                  ///< last committed checkpoint's ref, empty at first
  int32_t restarts_left = 0;

  int32_t world_size = 1;
  int32_t local_rank = 0;
  int32_t local_world_size = 1;
  int32_t group_rank = 0;                   ///< index of the node among the gang's nodes
  int32_t group_world_size = 1;
  std::vector<std::string> node_addresses;  ///< one per gang node, in group_rank order
  std::vector<std::string> node_names;
  std::vector<int32_t> ranks_per_node;      ///< in group_rank order
  std::string master_address;
  int32_t master_port = 0;                  ///< 0 for rank 0's node: the agent reserves one
  std::string image;                        ///< as JobSpec::image
  std::vector<Mount> mounts;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "key", s.key);
    v(2, "job_name", s.job_name);
    v(3, "user", s.user);
    v(4, "command", s.command);
    v(5, "env", s.env);
    v(6, "workdir", s.workdir);
    v(7, "devices", s.devices);
    v(8, "cpu_milli", s.cpu_milli);
    v(9, "memory", s.memory);
    v(10, "grace", s.grace);
    v(11, "log_limit", s.log_limit);
    v(12, "slurm_env", s.slurm_env);
    v(13, "checkpoint_dir", s.checkpoint_dir);
    v(14, "resume_from", s.resume_from);
    v(15, "restarts_left", s.restarts_left);
    v(16, "world_size", s.world_size);
    v(17, "local_rank", s.local_rank);
    v(18, "local_world_size", s.local_world_size);
    v(19, "group_rank", s.group_rank);
    v(20, "group_world_size", s.group_world_size);
    v(21, "node_addresses", s.node_addresses);
    v(22, "node_names", s.node_names);
    v(23, "ranks_per_node", s.ranks_per_node);
    v(24, "master_address", s.master_address);
    v(25, "master_port", s.master_port);
    v(26, "image", s.image);
    v(27, "mounts", s.mounts);
  }
  friend bool operator==(const WorkerLaunch&, const WorkerLaunch&) = default;
};

enum class WorkerStatus : int { kStarting = 0, kRunning = 1, kStopping = 2, kEnded = 3 };
std::string to_text(WorkerStatus status);

/// Why a worker ended, as its agent saw it.
enum class EndCause : int {
  kNone = 0,
  kExited = 1,        ///< by itself, see exit_code
  kSignalled = 2,     ///< by a signal that we did not send, see signal
  kStopped = 3,       ///< we were asked to stop it and it is gone
  kStartFailed = 4,   ///< never ran: no such program, directory, ...; see last_words
  kOutOfMemory = 5,
  kLeaseEnded = 6,    ///< the agent stopped it since it could not renew its lease
  kVanished = 7,      ///< gone without a trace (reboot, state lost)
  kNodeFailed = 8,    ///< never ran, as its node could not: disk full, no ports; see last_words
  kNodeLeft = 9,      ///< stopped because its agent was told to stop and take its workers along
  kNotWell = 10,      ///< never ran, as its device or node failed a check first; see last_words
};
std::string to_text(EndCause cause);

/// How a worker ended.
struct WorkerEnd {
  EndCause cause = EndCause::kNone;
  int32_t exit_code = 0;
  int32_t signal = 0;
  std::string last_words;   ///< tail of stderr, at most 2 KiB, for "why did it fail"
  Duration ran;
  Duration user_cpu;
  Bytes max_rss;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "cause", s.cause);
    v(2, "exit_code", s.exit_code);
    v(3, "signal", s.signal);
    v(4, "last_words", s.last_words);
    v(5, "ran", s.ran);
    v(6, "user_cpu", s.user_cpu);
    v(7, "max_rss", s.max_rss);
  }
  friend bool operator==(const WorkerEnd&, const WorkerEnd&) = default;
};

/// A checkpoint that a worker says is complete.
struct CheckpointMark {
  int64_t step = 0;
  std::string ref;   ///< what the program needs to resume, a path as a rule

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "step", s.step);
    v(2, "ref", s.ref);
  }
  friend bool operator==(const CheckpointMark&, const CheckpointMark&) = default;
};

/// What a worker last said of its progress; numbers it did not say are 0. Never durable.
struct Progress {
  int64_t step = 0;
  int64_t total_steps = 0;
  double loss = 0;
  int64_t samples = 0;
  int64_t tokens = 0;
  double tokens_per_s = 0;
};

}  // namespace keiko
