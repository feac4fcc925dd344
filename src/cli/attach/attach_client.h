// The client's end of Attach: this process's streams, signals and terminal on one side, a command
// in a worker on the other. It takes over the process's signals, and puts the terminal back on
// every way out.
#pragma once

#include "cli/attach/signal_stream.h"
#include "wire/attach/attach_call.h"

namespace keiko::cli {

/// Runs the command to its end. With open.terminal, standard input must be a terminal; it is raw
/// meanwhile. Otherwise signals that would end us are passed on; the third Ctrl-C leaves.
/// RETURNS: the command's exit code, 128 + signal after a signal; kUnavailable if server, node or
/// the way between was lost.
Result<int> attach_and_wait(const std::string& server, const v1::AttachOpen& open,
                            const SignalStream& signals);

}  // namespace keiko::cli
