// Port WorkerDoor: lets a command into a running worker, as if the worker itself had started it:
// its environment, directory, user, cgroup and devices; and connections to its ports. A visit is
// never part of the worker's own end, and nothing of it outlives the Visit, the agent or the
// worker. The door is safe from any thread; a Visit is for one thread, signal() excepted.
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

/// Files into or out of the worker, in the form of drivers/files/tree.
struct VisitCopy {
  std::string path;           ///< relative: to the worker's working directory
  bool into_worker = false;   ///< unpacks what comes in; else packs what goes out
  bool recursive = false;     ///< folders as well
};

struct VisitOrder {
  std::vector<std::string> argv;           ///< empty: the worker's $SHELL, or /bin/sh
  std::map<std::string, std::string> env;  ///< beside the worker's own
  std::optional<TerminalSize> terminal;    ///< in a terminal of its own
  std::optional<VisitCopy> copy = {};      ///< instead of argv; needs no program in the worker
};

struct VisitEnd {
  int exit_code = 0;
  int signal = 0;    ///< what ended it, 0: it exited
  Error error;       ///< kOk, or why it did not run to its end
};

/// A command in a worker, or a connection to it. Destroying it kills the command and all that it
/// started, and waits.
class Visit {
 public:
  virtual ~Visit() = default;

  /// Non-blocking descriptors, the visit's own. In a terminal in and out are the same, and err -1.
  virtual int in() const = 0;
  virtual int out() const = 0;
  virtual int err() const = 0;
  /// The command finds the end of its input; a connection is closed in that direction.
  virtual void close_in() = 0;
  virtual void resize(TerminalSize size) = 0;
  /// To every process of the command. Safe from any thread.
  virtual void signal(int number) = 0;

  /// Readable when end() has news.
  virtual int news() const = 0;
  /// RETURNS: the end, once nothing of the command runs any more. What it wrote may still be
  /// in out() and err(). A connection has one only when the worker ends.
  virtual std::optional<VisitEnd> end() = 0;
};

class WorkerDoor {
 public:
  virtual ~WorkerDoor() = default;
  /// RETURNS: kFailedPrecondition if the worker does not run here (any more).
  virtual Result<std::unique_ptr<Visit>> enter(const WorkerKey& key, const VisitOrder& order) = 0;
  /// A connection to this port of the worker's loopback; in() and out() are the same.
  /// RETURNS: kUnavailable if nothing listens there; else as enter().
  virtual Result<std::unique_ptr<Visit>> connect(const WorkerKey& key, int port) = 0;
  /// No streams; it ends with the worker. RETURNS: as enter().
  virtual Result<std::unique_ptr<Visit>> watch(const WorkerKey& key) = 0;
};

}  // namespace keiko
