// The keeper of a visit: one tiny parent per command that was let into a worker (WorkerDoor). It
// starts the command as the worker's shim would, and leaves nothing of it behind: when the agent's
// end of the control socket closes, however the agent ended, or the worker ends, all is killed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/fields.h"

namespace keiko {

/// Body of `keiko visit`. REQUIRES: called from main() before any thread, with the descriptors
/// below. RETURNS: 0 if the end was told.
int visit_main();

namespace process {

/// What a keeper finds: its control socket (SOCK_SEQPACKET) and the command's three streams.
constexpr int kVisitControlFd = 3;
constexpr int kVisitInFd = 4;
constexpr int kVisitOutFd = 5;
constexpr int kVisitErrFd = 6;

/// The first message on the control socket; then come signals, a decimal number each.
struct VisitRecord {
  std::string folder;   ///< the worker's
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  bool terminal = false;
  bool copy = false;           ///< instead of argv: packs or unpacks files
  std::string copy_path;
  bool copy_into = false;      ///< unpacks
  bool copy_recursive = false;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "folder", s.folder);
    v(2, "argv", s.argv);
    v(3, "env", s.env);
    v(4, "terminal", s.terminal);
    v(5, "copy", s.copy);
    v(6, "copy_path", s.copy_path);
    v(7, "copy_into", s.copy_into);
    v(8, "copy_recursive", s.copy_recursive);
  }
};

/// The keeper's only message, behind kVisitEndMark: of a command that exited with 0 it is empty,
/// and an empty message would look like a keeper that is gone.
struct VisitEndRecord {
  int32_t exit_code = 0;
  int32_t signal = 0;
  std::string failure;        ///< why the command could not be started
  bool worker_ended = false;  ///< and the command was killed for it

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "exit_code", s.exit_code);
    v(2, "signal", s.signal);
    v(3, "failure", s.failure);
    v(4, "worker_ended", s.worker_ended);
  }
};

constexpr char kVisitEndMark = 'e';

/// Longest VisitRecord; a socket message cannot be of any size.
constexpr size_t kVisitRecordBytes = 128 * 1024;

}  // namespace process
}  // namespace keiko
