// AttachSession: one command in a worker or one connection to it, between its streams and the
// agent's Attach call.
//
//   call.read  --reader thread--> input queue, signals, sizes
//   command's out, err --pump (the caller's thread)--> call.write, which waits for a slow client
//
// Input that the command does not take waits here, at most kAttachInputWindow bytes: the client
// sends only what the window frames allow. cancel() is safe from any thread.
#pragma once

#include <memory>
#include <string>

#include "keiko/v1/agent.pb.h"
#include "ports/attach/worker_door.h"
#include "wire/attach/attach_call.h"

namespace keiko::agent {

/// Serves the order until the command has ended, the client is gone or the call is cancelled.
void serve_attach(AttachCall& call, WorkerDoor& door, const v1::AttachOrder& order);

/// Lets nobody in, and tells why.
void refuse_attach(AttachCall& call, const v1::AttachOrder& order, const Error& why);

}  // namespace keiko::agent
