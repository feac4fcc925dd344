// Substrate of plain processes: every worker is a program under a shim of its own (shim.h).
//
// All truth is in the workers' folders, so an agent that opens the same state directory again finds
// its workers. A pidfd per shim and an inotify watch per folder make wake_fd() readable within
// microseconds of any change; poll() then looks only at workers that changed. A shim that died
// without recording an end takes its worker with it: poll() kills what is left, records kVanished.
// Called from one thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "drivers/substrate/process/files.h"
#include "drivers/substrate/process/lease_file.h"
#include "drivers/substrate/process/options.h"
#include "drivers/substrate/process/port_reservation.h"
#include "drivers/substrate/process/records.h"
#include "drivers/substrate/process/sweep.h"
#include "ports/substrate.h"

namespace keiko {

class ProcessSubstrate : public Substrate {
 public:
  /// Adopts what the state directory holds. REQUIRES: an absolute state_dir that no other substrate
  /// has open. RETURNS: an Error if its folders cannot be made or the kernel refuses descriptors.
  static Result<std::unique_ptr<ProcessSubstrate>> open(ProcessSubstrateOptions options);

  Done start(const WorkerProcess& process) override;
  Done signal(const WorkerKey& key, int signal) override;
  std::vector<ProcessState> poll() override;
  Done forget(const WorkerKey& key) override;
  Result<int32_t> reserve_port(const WorkerKey& key) override;
  Done hold_lease(Duration ends_in, Duration kill_in) override;
  std::optional<Duration> lease_left() override;
  Isolation isolation() const override { return isolation_; }
  int wake_fd() override { return wake_.get(); }

 private:
  struct Worker {
    ProcessState state;
    WorkerPaths paths;
    process::LaunchRecord launch;
    process::ProcessIdentity shim;   ///< pid 0: not known (yet)
    process::RunningRecord running;
    process::Fd shim_fd;             ///< pidfd; readable when the shim is gone
    int watch = -1;
    bool changed = true;
    bool killed = false;             ///< SIGKILL was sent to it
    process::DyingProcesses dying;   ///< what its dead shim left and was killed
  };

  explicit ProcessSubstrate(ProcessSubstrateOptions options) : options_(std::move(options)) {}
  Done prepare();
  void adopt(const WorkerKey& key);
  Done write_launch(const WorkerProcess& process, Worker& worker);
  void watch(Worker& worker);
  void hold_shim(Worker& worker, const process::ProcessIdentity& shim);
  void read_wakes();
  void look(Worker& worker);
  void look_for_end(Worker& worker);
  bool read_end(Worker& worker);
  void read_running(Worker& worker);
  void find_shim(Worker& worker);
  bool is_shim_gone(const Worker& worker) const;
  void bury(Worker& worker);
  process::WorkerScope scope_of(const Worker& worker) const;
  void let_shim_go(Worker& worker);
  std::vector<std::string> device_rules_of(const WorkerProcess& process);
  void find_isolation();
  void guard_devices();
  void reap_shims();

  ProcessSubstrateOptions options_;
  std::map<WorkerKey, Worker> workers_;
  std::map<WorkerKey, process::PortLock> reservations_;
  std::map<int, WorkerKey> watches_;     ///< inotify watch to worker
  std::map<int, WorkerKey> shim_fds_;    ///< pidfd to worker
  std::set<pid_t> exiting_shims_;        ///< have recorded their end and are about to exit
  process::Fd wake_;                     ///< epoll over inotify_ and every shim_fd
  process::Fd inotify_;
  process::LeaseFile lease_;
  uint64_t port_seed_ = 0;
  bool guards_devices_ = false;          ///< the kernel lets us
  Isolation isolation_;
  Duration guarded_at_;                  ///< monotonic: when device rules were last looked at
};

}  // namespace keiko
