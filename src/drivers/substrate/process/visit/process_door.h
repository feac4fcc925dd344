// WorkerDoor of plain processes: a command in a worker is a child of a keeper (visit_keeper.h),
// which reads from the worker's folder how the worker itself was started. Safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "ports/attach/worker_door.h"

namespace keiko {

class ProcessDoor : public WorkerDoor {
 public:
  /// `keeper_command` is run for each visit, this very binary as a rule.
  explicit ProcessDoor(std::string state_dir,
                       std::vector<std::string> keeper_command = {"/proc/self/exe", "visit"})
      : state_dir_(std::move(state_dir)), keeper_command_(std::move(keeper_command)) {}

  Result<std::unique_ptr<Visit>> enter(const WorkerKey& key, const VisitOrder& order) override;
  Result<std::unique_ptr<Visit>> connect(const WorkerKey& key, int port) override;
  Result<std::unique_ptr<Visit>> watch(const WorkerKey& key) override;

 private:
  const std::string state_dir_;
  const std::vector<std::string> keeper_command_;
};

}  // namespace keiko
