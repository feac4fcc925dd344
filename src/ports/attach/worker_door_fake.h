// FakeWorkerDoor: workers that are names, and commands in them that are functions of a test.
// Streams are real descriptors, since those are what a Visit is for; each command has a thread.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "ports/attach/worker_door.h"

namespace keiko {

/// What a command of the fake has. Descriptors do not block.
struct FakeCommand {
  const VisitOrder& order;
  int in = -1;
  int out = -1;      ///< of a terminal or a connection: as `in`
  int err = -1;      ///< of a terminal or a connection: none
  int signals = -1;  ///< one byte a signal; a command ends at the first one
};
/// RETURNS: how it ended.
using FakeProgram = std::function<VisitEnd(const FakeCommand&)>;

/// Waits for bytes of input. RETURNS: them, none at their end; nothing if a signal came first.
std::optional<std::string> fake_read(const FakeCommand& command);
/// Waits for room. RETURNS: false if a signal came first.
bool fake_write(const FakeCommand& command, int fd, std::string_view bytes);
/// Waits for a signal and dies of it.
VisitEnd fake_death(const FakeCommand& command);

class FakeVisit;

class FakeWorkerDoor : public WorkerDoor {
 public:
  /// It knows the commands of worker_door_conformance.h and no port.
  FakeWorkerDoor();
  /// REQUIRES: every visit is gone.
  ~FakeWorkerDoor() override;

  void begin_worker(const WorkerKey& key);
  void end_worker(const WorkerKey& key);
  void set_program(const std::string& name, FakeProgram program);
  void set_port(int port, FakeProgram program);
  /// RETURNS: how many visits there are now.
  size_t count();
  /// RETURNS: the size that a visit's terminal was given last.
  TerminalSize last_size();

  Result<std::unique_ptr<Visit>> enter(const WorkerKey& key, const VisitOrder& order) override;
  Result<std::unique_ptr<Visit>> connect(const WorkerKey& key, int port) override;
  Result<std::unique_ptr<Visit>> watch(const WorkerKey& key) override;

 private:
  friend class FakeVisit;
  Done check_runs(const WorkerKey& key);
  Result<std::unique_ptr<Visit>> admit(std::unique_ptr<FakeVisit> visit);

  std::mutex mutex_;
  std::set<WorkerKey> running_;
  std::map<std::string, FakeProgram> programs_;
  std::map<int, FakeProgram> ports_;
  std::list<FakeVisit*> visits_;
  TerminalSize size_;
};

}  // namespace keiko
