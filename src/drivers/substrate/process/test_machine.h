// What the tests of the process substrate share: a state directory of their own under a temporary
// folder, workers that are this test program in another role, and waits that end by condition.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "drivers/substrate/process/process_substrate.h"

namespace keiko::process {

inline WorkerKey worker_key(int32_t rank = 0) { return {JobId{7}, 1, rank}; }

/// `sh -c script` as rank `rank`, with a PATH and nothing else in its environment.
WorkerProcess shell(const std::string& script, int32_t rank = 0);

/// This test program acting as one of the odd workers of test_main_test.cc.
WorkerProcess act(const std::string& name, const std::string& argument);

class TestMachine {
 public:
  TestMachine();
  /// Kills what still runs and removes the folder.
  ~TestMachine();

  ProcessSubstrate& substrate() { return *substrate_; }
  ProcessSubstrateOptions& options() { return options_; }
  void open();
  void close() { substrate_.reset(); }

  ProcessState state(int32_t rank = 0);
  /// Waits for the substrate to say so. RETURNS: the last state it was in.
  ProcessState wait_for(WorkerStatus status, int32_t rank = 0);
  ProcessState run(const WorkerProcess& process);

  std::string out(int32_t rank = 0) const;
  std::string err(int32_t rank = 0) const;
  std::string path(const std::string& name) const { return options_.state_dir + "/" + name; }
  std::string folder(int32_t rank = 0) const;
  int64_t shim_pid(int32_t rank = 0) const;

 private:
  ProcessSubstrateOptions options_;
  std::unique_ptr<ProcessSubstrate> substrate_;
};

/// Makes real processes wait in the kernel (state D), where SIGKILL does not reach them: what is
/// frozen by version 1 of cgroups does. For the rest of this object's life at most.
class Freezer {
 public:
  ~Freezer();
  /// RETURNS: why this machine cannot do it; empty if the process is frozen.
  std::string freeze(int64_t pid);
  void thaw();

 private:
  std::string group_;
};

/// Waits up to 20 s, far above what any machine needs. RETURNS: whether it came to hold.
bool eventually(const std::function<bool()>& condition);

/// Waits until the pid file is there. RETURNS: the pid in it, 0 if it never came.
int64_t read_pid_file(const std::string& path);

}  // namespace keiko::process
