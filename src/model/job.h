// A job: what a user submits, and the words for how it fares.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/fields.h"
#include "model/mount.h"

namespace keiko {

enum class JobKind : int { kBatch = 0, kTrain = 1 };
std::string to_text(JobKind kind);

enum class JobStatus : int {
  kPending = 0,      ///< waits for devices, a hold or a back-off
  kStarting = 1,     ///< placed; not all workers run yet
  kRunning = 2,      ///< every worker runs
  kRegrouping = 3,   ///< a worker was lost: the survivors are being stopped, a restart follows
  kPreempting = 4,   ///< asked to make room: stopping, will be pending again
  kSuspended = 5,    ///< held by its user
  kCompleted = 6,
  kFailed = 7,
  kCancelled = 8,
};
std::string to_text(JobStatus status);  ///< "PENDING"
bool is_final(JobStatus status);

/// Machine-readable cause beside a job's status.
enum class Reason : int {
  kNone = 0,
  kWaitingForResources = 1, ///< fits an empty pool, not this one now
  kBehindOthers = 2,        ///< an earlier or more important job waits for the same devices
  kHeld = 3,
  kBackingOff = 4,          ///< waits before a restart
  kWorkerFailed = 5,        ///< a worker ended by its own fault
  kNodeLost = 6,            ///< a node's lease ended
  kWorkerKilled = 7,        ///< a worker was killed from outside
  kOutOfMemory = 8,
  kRestartsExhausted = 9,
  kCancelledByUser = 10,
  kNodeDrained = 11,
  kTimeLimit = 12,
  kRequeuedByUser = 13,
  kStartFailed = 14,        ///< the program could not be started at all
  kNoNodes = 15,            ///< the pool is empty or nothing in it takes work
};
std::string to_text(Reason reason);  ///< "WaitingForResources", as squeue's users read it

/// JobSpec::restarts of who did not say: see allowed_restarts().
inline constexpr int32_t kByKind = -1;

/// What to run and on what. Per worker unless said otherwise. Defaults are what a user expects who
/// wrote only a command.
struct JobSpec {
  std::string name;                 ///< label; made from the command if empty
  JobKind kind = JobKind::kBatch;
  std::string user;                 ///< who submitted it
  std::string queue = "default";
  int32_t priority = 0;             ///< -1000..1000, higher first
  std::vector<std::string> command; ///< argv; the program is looked up in the worker's PATH
  std::map<std::string, std::string> env;
  std::string workdir;              ///< absolute; the submitter's directory if empty
  int32_t workers = 1;              ///< size of the gang = world size
  int32_t devices = 0;              ///< accelerators per worker
  std::string device_kind;          ///< "", any; else Device::kind
  Bytes device_memory;              ///< at least, per device
  int64_t cpu_milli = 1000;
  Bytes memory;                     ///< 0: no limit and no reservation
  int32_t restarts = kByKind;       ///< budget for the user's own faults
  int32_t infra_restarts = 20;      ///< budget for faults of the infrastructure
  Duration grace = seconds(30);     ///< between SIGTERM and SIGKILL
  Duration time_limit;              ///< 0: none
  Bytes log_limit = gibibytes(1);   ///< per stream of a worker
  bool slurm_env = false;           ///< also set SLURM_*
  std::string checkpoint_dir;       ///< told to the program as KEIKO_CHECKPOINT_DIR
  std::map<std::string, std::string> node_labels;  ///< nodes must carry all of these
  bool one_node = false;            ///< all workers on one node
  std::string image;                ///< root file system of the workers; empty: the node's own
  std::vector<Mount> mounts;        ///< what a worker in an image sees of its node

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "name", s.name);
    v(2, "kind", s.kind);
    v(3, "user", s.user);
    v(4, "queue", s.queue);
    v(5, "priority", s.priority);
    v(6, "command", s.command);
    v(7, "env", s.env);
    v(8, "workdir", s.workdir);
    v(9, "workers", s.workers);
    v(10, "devices", s.devices);
    v(11, "device_kind", s.device_kind);
    v(12, "device_memory", s.device_memory);
    v(13, "cpu_milli", s.cpu_milli);
    v(14, "memory", s.memory);
    v(15, "restarts", s.restarts);
    v(16, "infra_restarts", s.infra_restarts);
    v(17, "grace", s.grace);
    v(18, "time_limit", s.time_limit);
    v(19, "log_limit", s.log_limit);
    v(20, "slurm_env", s.slurm_env);
    v(21, "checkpoint_dir", s.checkpoint_dir);
    v(22, "node_labels", s.node_labels);
    v(23, "one_node", s.one_node);
    v(24, "image", s.image);
    v(25, "mounts", s.mounts);
  }
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

/// RETURNS: how often the job may fail by its own fault and start again. Left to its kind, a train
/// job gets 3: it goes on from a checkpoint. A batch job gets none: a command that is wrong is
/// wrong the second time too, and its user waits for the exit code.
int32_t allowed_restarts(const JobSpec& spec);

/// RETURNS: kInvalidArgument naming the field (in `where`), its bounds and what was given.
Done validate(const JobSpec& spec);

/// Caps that keep one request from hurting the server; validate() holds a spec against them.
inline constexpr int32_t kMaxWorkers = 65536;
inline constexpr int32_t kMaxDevicesPerWorker = 1024;
inline constexpr size_t kMaxMounts = 64;
inline constexpr size_t kMaxSpecBytes = 256 * 1024;

}  // namespace keiko
