// Port WorkerDoor: lets a command into a running worker, as if the worker itself had started it:
// its environment, directory, user, cgroup and devices. The command is never part of the worker's
// own end, and nothing of it outlives its Visit, the agent or the worker.
// enter() is safe from any thread; a Visit is for one thread, signal() excepted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/worker.h"

namespace keiko {

struct TerminalSize {
  int rows = 24;
  int columns = 80;
};

struct VisitOrder {
  std::vector<std::string> argv;           ///< empty: the worker's $SHELL, or /bin/sh
  std::map<std::string, std::string> env;  ///< beside the worker's own
  std::optional<TerminalSize> terminal;    ///< in a terminal of its own
};

struct VisitEnd {
  int exit_code = 0;
  int signal = 0;    ///< what ended it, 0: it exited
  Error error;       ///< kOk, or why it did not run to its end
};

/// A command in a worker. Destroying it kills the command and all that it started, and waits.
class Visit {
 public:
  virtual ~Visit() = default;

  /// Non-blocking descriptors, the visit's own. In a terminal in and out are the same, and err -1.
  virtual int in() const = 0;
  virtual int out() const = 0;
  virtual int err() const = 0;
  /// The command finds the end of its input.
  virtual void close_in() = 0;
  virtual void resize(TerminalSize size) = 0;
  /// To every process of the command. Safe from any thread.
  virtual void signal(int number) = 0;

  /// Readable when end() has news.
  virtual int news() const = 0;
  /// RETURNS: the end, once nothing of the command runs any more. What it wrote may still be
  /// in out() and err().
  virtual std::optional<VisitEnd> end() = 0;
};

class WorkerDoor {
 public:
  virtual ~WorkerDoor() = default;
  /// RETURNS: kFailedPrecondition if the worker does not run here (any more).
  virtual Result<std::unique_ptr<Visit>> enter(const WorkerKey& key, const VisitOrder& order) = 0;
};

}  // namespace keiko
