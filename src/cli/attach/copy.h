// Files into a running worker and out of it: a packer on one side of an Attach call, an unpacker on
// the other (drivers/files/tree).
#pragma once

#include <string>

#include "cli/attach/attach_client.h"
#include "cli/console.h"

namespace keiko::cli {

struct CopyOrder {
  std::string server;
  std::string local;
  std::string remote;        ///< relative: to the worker's working directory
  bool into_worker = false;
  bool recursive = false;
  bool progress = false;     ///< draw it on console.err
  v1::AttachOpen worker;     ///< job and rank
};

/// A signal ends it; what is not whole then has not its name.
/// RETURNS: kExitOk; kExitFailure if some entries were left out, which is told; else why it ended.
Result<int> copy_files(const CopyOrder& order, const SignalStream& signals,
                       const Console& console);

/// "j12:out/x": a worker's path. RETURNS: false for a local one; "./a:b" is local too.
bool split_remote(const std::string& text, std::string& job, std::string& path);

}  // namespace keiko::cli
