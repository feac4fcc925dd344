// Both ends of a pair are under the pair's one lock. A write is one at a time, and Finish waits for
// it; who must not wait for a stuck write cancels the call instead.
#include "server/attach/attach_relay.h"

#include <grpcpp/alarm.h>
#include <grpcpp/server_context.h>

#include <chrono>
#include <random>

#include "server/views.h"
#include "wire/convert.h"
#include "wire/grpc_status.h"

namespace keiko::server {
namespace {

constexpr std::chrono::seconds kAgentPatience{10};

std::string fresh_token() {
  std::random_device device;
  std::string token;
  for (int i = 0; i < 4; ++i) token += std::to_string(device()) + "-";
  return token;
}

}  // namespace

class AttachEnd;

class AttachPair {
 public:
  std::mutex mutex;
  std::shared_ptr<AttachEnd> client;
  std::shared_ptr<AttachEnd> agent;
  std::string node;
  bool end_passed = false;  ///< the agent's last frame is on its way to the client
};

/// One call of the two. The reactor lives until gRPC's last callback.
class AttachEnd : public AttachReactor {
 public:
  explicit AttachEnd(grpc::CallbackServerContext* context) : context_(context) {}

  void keep(std::shared_ptr<AttachEnd> self) { self_ = std::move(self); }

  // All of these with the pair's lock held.
  void read_locked() {
    if (!finishing_) StartRead(&incoming_);
  }
  void write_locked(v1::AttachFrame frame) {
    if (finishing_) return;
    outgoing_ = std::move(frame);
    writing_ = true;
    StartWrite(&outgoing_);
  }
  void finish_locked(const grpc::Status& status) {
    if (finishing_) return;
    finishing_ = true;
    status_ = status;
    if (!writing_) Finish(status_);
  }
  void cancel_locked() {
    finish_locked(grpc::Status::CANCELLED);
    context_->TryCancel();
  }

 protected:
  std::shared_ptr<AttachEnd> self() const { return self_; }

  /// A frame of the other side has gone out: its next one may be read.
  void written_locked(AttachEnd* other) {
    writing_ = false;
    if (finishing_) Finish(status_);
    else if (other != nullptr) other->read_locked();
  }

  void OnDone() override {
    const std::shared_ptr<AttachEnd> last = std::move(self_);
    on_gone();
  }
  virtual void on_gone() = 0;

  grpc::CallbackServerContext* const context_;
  v1::AttachFrame incoming_;

 private:
  v1::AttachFrame outgoing_;
  std::shared_ptr<AttachEnd> self_;
  grpc::Status status_;
  bool writing_ = false;
  bool finishing_ = false;
};

class ClientAttachEnd : public AttachEnd {
 public:
  ClientAttachEnd(grpc::CallbackServerContext* context, AttachRelay& relay)
      : AttachEnd(context), relay_(relay) {}

  void start(const std::shared_ptr<ClientAttachEnd>& self) {
    keep(self);
    const std::lock_guard lock(pair_->mutex);
    pair_->client = self;
    StartSendInitialMetadata();
    read_locked();
  }

 private:
  void OnReadDone(bool ok) override {
    const std::shared_ptr<AttachPair> pair = pair_;
    const std::lock_guard lock(pair->mutex);
    if (!ok) return leave_locked();
    if (pair->agent) return pair->agent->write_locked(std::move(incoming_));
    if (!incoming_.has_open()) {
      return finish_locked(to_status(invalid_argument("the first frame opens nothing")));
    }
    order_locked();
  }

  void order_locked() {
    alarm_.Set(std::chrono::system_clock::now() + kAgentPatience, [pair = pair_](bool due) {
      const std::lock_guard lock(pair->mutex);
      if (!due || pair->agent || !pair->client) return;
      pair->client->finish_locked(to_status(unavailable(
          "node " + pair->node + " does not answer; it may be an older agent that has no exec")));
    });
    const Done posted = relay_.loop_.post([pair = pair_, &relay = relay_, open = incoming_.open()] {
      const Done ordered = relay.order(relay.loop_.view(), open, pair);
      const std::lock_guard guard(pair->mutex);
      if (!ordered.ok() && pair->client) pair->client->finish_locked(to_status(ordered.error()));
    });
    if (!posted.ok()) finish_locked(to_status(posted.error()));
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(pair_->mutex);
    if (pair_->end_passed) finish_locked(grpc::Status::OK);
    written_locked(ok ? pair_->agent.get() : nullptr);
    if (!ok) leave_locked();
  }

  void OnCancel() override {
    const std::lock_guard lock(pair_->mutex);
    leave_locked();
  }

  void leave_locked() {
    finish_locked(grpc::Status::CANCELLED);
    if (pair_->agent) pair_->agent->cancel_locked();
  }

  void on_gone() override {
    alarm_.Cancel();
    const std::shared_ptr<AttachPair> pair = pair_;
    const std::lock_guard lock(pair->mutex);
    if (pair->agent) pair->agent->cancel_locked();
    const std::shared_ptr<AttachEnd> last = std::move(pair->client);
  }

  AttachRelay& relay_;
  const std::shared_ptr<AttachPair> pair_ = std::make_shared<AttachPair>();
  grpc::Alarm alarm_;
};

class AgentAttachEnd : public AttachEnd {
 public:
  AgentAttachEnd(grpc::CallbackServerContext* context, AttachRelay& relay)
      : AttachEnd(context), relay_(relay) {}

  void start(const std::shared_ptr<AgentAttachEnd>& self) {
    keep(self);
    const std::lock_guard lock(pair_->mutex);
    StartSendInitialMetadata();
    read_locked();
  }

 private:
  void OnReadDone(bool ok) override {
    if (ok && incoming_.body_case() == v1::AttachFrame::kAccept) return accept();
    const std::lock_guard lock(pair_->mutex);
    if (!ok) return leave_locked();
    if (!pair_->client) return finish_locked(grpc::Status::CANCELLED);
    pair_->end_passed = incoming_.has_end();
    pair_->client->write_locked(std::move(incoming_));
  }

  void accept() {
    std::shared_ptr<AttachPair> pair = relay_.take(incoming_.accept());
    const std::shared_ptr<AttachPair> before = pair_;
    const std::lock_guard own(before->mutex);
    if (!pair) return finish_locked(to_status(not_found("nobody waits for this any more")));
    const std::lock_guard lock(pair->mutex);
    pair_ = pair;
    if (!pair->client) return finish_locked(grpc::Status::CANCELLED);
    pair->agent = self();
    read_locked();
    pair->client->read_locked();
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(pair_->mutex);
    written_locked(ok ? pair_->client.get() : nullptr);
    if (!ok) leave_locked();
  }

  void OnCancel() override {}  // the read under way ends, and tells

  void leave_locked() {
    finish_locked(grpc::Status::OK);
    if (!pair_->client || pair_->end_passed) return;
    pair_->client->finish_locked(to_status(unavailable(
        "the agent of node " + pair_->node +
        " is gone, and what this call ran with it; the worker is not touched by that")));
  }

  void on_gone() override {
    const std::shared_ptr<AttachPair> pair = pair_;
    const std::lock_guard lock(pair->mutex);
    const std::shared_ptr<AttachEnd> last = std::move(pair->agent);
  }

  AttachRelay& relay_;
  std::shared_ptr<AttachPair> pair_ = std::make_shared<AttachPair>();  ///< its own until accept()
};

AttachReactor* AttachRelay::open_client(grpc::CallbackServerContext* context) {
  auto end = std::make_shared<ClientAttachEnd>(context, *this);
  end->start(end);
  return end.get();
}

AttachReactor* AttachRelay::open_agent(grpc::CallbackServerContext* context) {
  auto end = std::make_shared<AgentAttachEnd>(context, *this);
  end->start(end);
  return end.get();
}

Done AttachRelay::order(const View& view, const v1::AttachOpen& open,
                        const std::shared_ptr<AttachPair>& pair) {
  const AttachTarget target = TRY(find_attach_target(view.state, open));
  const std::string node = node_name(view.state, target.node);
  const cluster::NodeSight* sight = view.brain.sight_of(target.node);
  const auto port = sight == nullptr ? nullptr : loop_.agents().find(sight->connection);
  if (!port) {
    return unavailable("node " + node + ", where the worker runs, is not connected; try again "
                       "when it is back: keiko nodes");
  }
  v1::ServerMessage message;
  v1::AttachOrder& order = *message.mutable_attach();
  order.set_token(fresh_token());
  order.mutable_key()->set_job(target.key.job.number);
  order.mutable_key()->set_attempt(target.key.attempt);
  order.mutable_key()->set_rank(target.key.rank);
  *order.mutable_open() = open;
  {
    const std::lock_guard lock(pair->mutex);
    pair->node = node;
  }
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [](const auto& entry) { return entry.second.expired(); });
    waiting_[order.token()] = pair;
  }
  port->send(std::move(message));
  return done();
}

std::shared_ptr<AttachPair> AttachRelay::take(const std::string& token) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.extract(token);
  return found ? found.mapped().lock() : nullptr;
}

}  // namespace keiko::server
