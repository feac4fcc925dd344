// AttachRelay: joins a client's Attach call with the one that the worker's agent dials for it, and
// passes frames without looking. A frame is read only after the one before was written to the other
// side, so that the relay holds one frame a direction, and who reads slowly slows who writes.
// Only .cc files include this. Safe from any thread.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "keiko/v1/agent.pb.h"
#include "server/server_loop.h"

namespace keiko::server {

class AttachPair;
using AttachReactor = grpc::ServerBidiReactor<v1::AttachFrame, v1::AttachFrame>;

class AttachRelay {
 public:
  explicit AttachRelay(ServerLoop& loop) : loop_(loop) {}

  AttachReactor* open_client(grpc::CallbackServerContext* context);
  AttachReactor* open_agent(grpc::CallbackServerContext* context);

 private:
  friend class ClientAttachEnd;
  friend class AgentAttachEnd;

  /// On the loop thread. RETURNS: an Error that says the worker's state and what to do.
  Done order(const View& view, const v1::AttachOpen& open,
             const std::shared_ptr<AttachPair>& pair);
  /// RETURNS: null if nobody waits for an agent with this token (any more).
  std::shared_ptr<AttachPair> take(const std::string& token);

  ServerLoop& loop_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<AttachPair>> waiting_;  ///< by token
};

/// Which worker a client means. RETURNS: kFailedPrecondition if it does not run.
struct AttachTarget {
  WorkerKey key;
  NodeId node;
};
Result<AttachTarget> find_attach_target(const State& state, const v1::AttachOpen& open);

}  // namespace keiko::server
