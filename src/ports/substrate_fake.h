// FakeSubstrate: workers that exist only in memory and do one step of a script at a time.
//
// The FakeMachine is the world: keep it outside, destroy the FakeSubstrate ("the agent crashed"),
// make another over the same machine, and it adopts what the first one started. Nothing moves until
// advance(), so every test is deterministic. For one thread.
#pragma once

#include <map>
#include <set>
#include <string>

#include "ports/substrate.h"

namespace keiko {

/// What a program does, one step per advance(): the first step is that it runs.
struct FakeProgram {
  int32_t steps = -1;          ///< how many steps it runs before it exits; -1: until a signal
  int32_t exit_code = 0;
  std::string output;          ///< on stdout, as soon as it runs
  bool ignores_term = false;   ///< nothing but SIGKILL ends it
  bool vanishes = false;       ///< gone after `steps` without a trace, instead of exiting
};

class FakeMachine {
 public:
  FakeMachine();

  /// From now on `argv0` is this program. "sleep", "exit" (argv[1] is its code), "ignore-term",
  /// "print" (prints argv[1]) and "vanish" are there from the start; others cannot be executed.
  void install(const std::string& argv0, const FakeProgram& program);

  /// Every worker does one step.
  void advance();

  /// A running worker is gone without a trace, as after kill -9 of its shim or a reboot.
  void vanish(const WorkerKey& key);

  /// From now on SIGKILL does not end the worker: a process of it waits in the kernel ...
  void hang(const WorkerKey& key);
  /// ... until now. It obeys at its next step.
  void unhang(const WorkerKey& key);

  /// RETURNS: what the worker printed; kept after it is forgotten.
  std::string output(const WorkerKey& key) const;

 private:
  friend class FakeSubstrate;
  struct Worker {
    ProcessState state;
    FakeProgram program;
    bool exists = true;      ///< false: cannot be executed
    bool hangs = false;
    int32_t signal = 0;      ///< what will end it at its next step
    int32_t steps_done = 0;
    std::string argv0;
  };
  FakeProgram program_of(const WorkerProcess& process, bool& exists) const;
  void step(Worker& worker);
  static void end(Worker& worker, EndCause cause, int32_t exit_code, int32_t signal);

  std::map<std::string, FakeProgram> programs_;
  std::map<WorkerKey, Worker> workers_;
  std::map<WorkerKey, std::string> outputs_;
  std::map<WorkerKey, int32_t> ports_;
  std::optional<Duration> lease_;
  int64_t next_pid_ = 100;
};

class FakeSubstrate : public Substrate {
 public:
  explicit FakeSubstrate(FakeMachine& machine) : machine_(machine) {}

  Done start(const WorkerProcess& process) override;
  Done signal(const WorkerKey& key, int signal) override;
  std::vector<ProcessState> poll() override;
  Done forget(const WorkerKey& key) override;
  Result<int32_t> reserve_port(const WorkerKey& key) override;
  /// Kept; time does not pass here, so nothing is ever killed by it.
  Done hold_lease(Duration ends_in, Duration kill_in) override;
  std::optional<Duration> lease_left() override;
  Isolation isolation() const override { return {"none", {{"memory", {}, "it is a fake"}}}; }

 private:
  FakeMachine& machine_;
};

}  // namespace keiko
