// UpLoop: supervises one server and N agents on this machine, until it is told to stop.
//
// If it is killed itself, the others go on; the next one finds them in up.json and adopts those
// that are what it would have started, and stops the rest. One thread.
#pragma once

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "up_child.h"
#include "up_folder.h"
#include "up_options.h"
#include "up_record.h"

namespace keiko::up {

class UpLoop {
 public:
  /// Blocks SIGINT, SIGTERM and SIGHUP for the whole process: they stop the pool.
  explicit UpLoop(UpOptions options);
  ~UpLoop();
  UpLoop(const UpLoop&) = delete;
  UpLoop& operator=(const UpLoop&) = delete;

  /// RETURNS: after everything was started and stopped again. `on_ready` is called once, when the
  /// server answers and the nodes have joined.
  Done run(const std::function<void(const ServerAddress&)>& on_ready);

 private:
  Done start_all(const std::optional<UpRecord>& before);
  Done start_server(const std::optional<UpRecord>& before);
  Done start_agents(const std::optional<UpRecord>& before);
  Done wait_for_server();
  void wait_for_nodes();
  void retire_others(const UpRecord& before);
  /// Sleeps until a process ends, a signal comes or the time is over.
  void wait(std::chrono::milliseconds most);
  void revive();
  void stop_all();
  void stop_children(const std::vector<Child*>& children, std::chrono::seconds patience);
  Done save(bool ready);

  UpOptions options_;
  FolderLock lock_;
  ServerAddress address_;
  std::vector<Child> children_;  ///< the server first
  sigset_t before_;
  int signal_fd_ = -1;
  int signals_ = 0;              ///< how often it was asked to stop
};

}  // namespace keiko::up
