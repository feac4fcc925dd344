// AttachDesk: lets clients into workers, each with a thread and a call to the server of its own, so
// that none of their bytes stands before a heartbeat. Safe from any thread.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "agent/attach/attach_session.h"

namespace keiko::agent {

class AttachDesk {
 public:
  /// Commands and connections at a time. Each has a few descriptors and two threads, and a client
  /// that opens more has lost count. As many again are told so; beyond them the server gives up.
  static constexpr size_t kMostSittings = 256;

  /// REQUIRES: the door outlives the desk.
  AttachDesk(WorkerDoor& door, DialAttach dial) : door_(door), dial_(std::move(dial)) {}
  /// Ends every visit and waits for it.
  ~AttachDesk();

  void serve(v1::AttachOrder order);

 private:
  struct Sitting {
    std::unique_ptr<AttachCall> call;
    std::thread thread;
    bool over = false;
  };
  void sit(Sitting& sitting, const v1::AttachOrder& order, bool welcome);
  void sweep_locked();

  WorkerDoor& door_;
  const DialAttach dial_;
  std::mutex mutex_;
  bool closing_ = false;
  std::list<Sitting> sittings_;
};

}  // namespace keiko::agent
