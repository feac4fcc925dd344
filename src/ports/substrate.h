// Port Substrate: runs workers on this machine, whatever they are (processes, later containers).
//
// Workers outlive the agent: a substrate that is opened again lists what still runs and what ended
// meanwhile. Output goes to files, never through the agent. Called from one thread; events are
// collected by poll(), and wake_fd() says when that is worth it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/isolation.h"
#include "model/mount.h"
#include "model/worker.h"

namespace keiko {

/// What to execute. Everything is decided by the caller; the substrate adds nothing to `env`.
struct WorkerProcess {
  WorkerKey key;
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  ///< the complete environment
  std::string workdir;
  int64_t cpu_milli = 0;   ///< its share when cores are short; 0: no say in it
  Bytes memory;            ///< 0: no limit
  std::vector<int32_t> cpus;  ///< affinity; empty: any
  std::vector<std::string> device_files = {};  ///< what its devices are opened by: "/dev/nvidia3"
  Bytes log_limit;         ///< per stream; output beyond it is dropped, with a mark; 0: no limit
  std::string image = {};  ///< its root file system (JobSpec::image); empty: the machine's own
  std::vector<Mount> mounts = {};  ///< with an image: what of the machine it sees
  std::vector<std::string> device_names = {};  ///< with an image: as vendors' CDI specs have them
  int32_t master_port = 0; ///< a reserve_port() reservation that this worker takes over; 0: none
};

/// A worker as the substrate knows it.
struct ProcessState {
  WorkerKey key;
  WorkerStatus status = WorkerStatus::kStarting;
  int64_t pid = 0;          ///< of the program itself, 0 until it runs
  int32_t master_port = 0;  ///< the reservation it holds
  WorkerEnd end;            ///< when kEnded
  std::vector<std::string> notes;  ///< what was asked for and could not be held, a sentence each
  std::vector<int32_t> cpus = {};  ///< the affinity that was asked for
  /// Processes of it that wait in the kernel (state D), where SIGKILL does not reach them; looked
  /// for once it was sent.
  std::vector<int64_t> hanging = {};
};

class Substrate {
 public:
  virtual ~Substrate() = default;

  /// Starts the program and returns without waiting for it. An end follows in poll() in any case,
  /// kStartFailed with a sentence if the program could not be executed. A key that is known already
  /// is kAlreadyExists and changes nothing. After any other error the key is not known.
  virtual Done start(const WorkerProcess& process) = 0;

  /// Sends `signal` to every process of the worker, forks and double forks included; one that still
  /// starts gets it as soon as it runs. Unknown or ended keys are kNotFound.
  virtual Done signal(const WorkerKey& key, int signal) = 0;

  /// RETURNS: every worker that is not forgotten, ended ones included, in key order. On a reopened
  /// substrate this is how workers are adopted.
  virtual std::vector<ProcessState> poll() = 0;

  /// Frees an ended worker's records and its folder but for its logs; a port that was reserved for
  /// a key and never taken over is free again. RETURNS: kFailedPrecondition if it still runs,
  /// kNotFound if nothing is known of it.
  virtual Done forget(const WorkerKey& key) = 0;

  /// Reserves a TCP port of this machine for a gang's rendezvous: free now, and not handed out to
  /// any other caller on this machine, other agents included, until the worker that takes it over
  /// has ended or release is called by forget().
  virtual Result<int32_t> reserve_port(const WorkerKey& key) = 0;

  /// Writes down until when workers may run. Their keepers kill every one of them `kill_in` from
  /// now (kLeaseEnded) unless this is called again before, whether the caller still lives or not;
  /// so an agent that died cannot let its workers outlive the lease. Never called: no limit.
  virtual Done hold_lease(Duration ends_in, Duration kill_in) = 0;

  /// RETURNS: how long the lease that was last held still runs, by this machine's clock, negative
  /// once it has ended; nothing if there was none since the machine booted.
  virtual std::optional<Duration> lease_left() = 0;

  /// RETURNS: what this machine lets it hold workers to, as found when it was opened.
  virtual Isolation isolation() const = 0;

  /// RETURNS: a descriptor that is readable when poll() may have news, for an event loop to wait on
  /// and never to read; -1 if there is none and the caller has to poll by time.
  virtual int wake_fd() { return -1; }
};

/// Where a worker's output lies, under the agent's state directory. Logs stay after forget().
struct WorkerPaths {
  std::string folder;   ///< <state>/workers/j7.1.0
  std::string out;      ///< <state>/logs/j7/1/0.out
  std::string err;      ///< <state>/logs/j7/1/0.err
  std::string socket;   ///< the worker socket; short enough for sun_path
};
WorkerPaths worker_paths(const std::string& state_dir, const WorkerKey& key);

}  // namespace keiko
