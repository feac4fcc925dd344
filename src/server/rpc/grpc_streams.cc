// Writes are one at a time; Finish is called once, when no write is under way or the call is dead.
#include "server/rpc/grpc_streams.h"

#include <grpcpp/server_context.h>

#include "server/event_cursor.h"
#include "wire/grpc_status.h"

namespace keiko::server {
namespace {

class EventStream : public grpc::ServerWriteReactor<v1::Event> {
 public:
  EventStream(grpc::CallbackServerContext* context, const v1::WatchEventsRequest& request,
              EventLog& events, ServerProbe& probe)
      : context_(context), events_(events), probe_(probe), cursor_(events, request),
        follow_(request.follow()) {
    StartSendInitialMetadata();
    listener_ = events_.listen([this] { on_news(); });
    const std::lock_guard lock(mutex_);
    next_locked();
  }

 private:
  void on_news() {
    const std::lock_guard lock(mutex_);
    if (!writing_) return next_locked();
    if (finished_ || cut_ || !cursor_.lost()) return;
    cut_ = true;
    probe_.cut_readers.add();
    context_->TryCancel();  // the write under way may never end by itself
  }

  void next_locked() {
    if (finished_ || writing_) return;
    const Result<EventLog::Entry> entry = cursor_.next();
    if (!entry.ok()) return finish_locked(to_status(entry.error()));
    if (*entry) {
      writing_ = true;
      current_ = *entry;
      StartWrite(current_.get());
    } else if (!follow_) {
      finish_locked(grpc::Status::OK);
    }
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (cut_) return finish_locked(to_status(EventCursor::too_slow()));
    if (!ok) return finish_locked(grpc::Status::CANCELLED);
    next_locked();
  }

  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    if (!writing_) finish_locked(grpc::Status::CANCELLED);
  }

  void OnDone() override {
    events_.unlisten(listener_);
    delete this;
  }

  void finish_locked(const grpc::Status& status) {
    if (finished_) return;
    finished_ = true;
    Finish(status);
  }

  grpc::CallbackServerContext* const context_;
  EventLog& events_;
  ServerProbe& probe_;
  uint64_t listener_ = 0;
  std::mutex mutex_;
  EventCursor cursor_;
  const bool follow_;
  EventLog::Entry current_;
  bool writing_ = false;
  bool finished_ = false;
  bool cut_ = false;
};

class LogStreamReactor : public grpc::ServerWriteReactor<v1::LogPiece>, public LogSink {
 public:
  LogStreamReactor(grpc::CallbackServerContext* context, ServerLoop& loop, LogRelay& relay)
      : context_(context), loop_(loop), relay_(relay) {}

  void start(const std::shared_ptr<LogStreamReactor>& self, const v1::ReadLogsRequest& request) {
    self_ = self;
    StartSendInitialMetadata();
    const Done posted = loop_.post([this, self, request] {
      const uint64_t reader = relay_.open(loop_.view(), request, self);
      const std::lock_guard lock(mutex_);
      reader_ = reader;
      if (cancelled_ && reader != 0) relay_cancel(self);
    });
    if (!posted.ok()) end(posted);
  }

  void piece(v1::LogPiece piece) override {
    const std::lock_guard lock(mutex_);
    if (finished_ || ending_) return;
    queue_.push_back(std::move(piece));
    if (queue_.size() == 1) StartWrite(&queue_.front());
  }

  void end(const Done& how) override {
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    ending_ = true;
    status_ = how.ok() ? grpc::Status::OK : to_status(how.error());
    if (queue_.empty()) return finish_locked();
    if (!how.ok() && how.error().code == Code::kResourceExhausted) context_->TryCancel();
  }

 private:
  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    const size_t bytes = queue_.front().data().size();
    queue_.pop_front();
    if (!ok) {
      queue_.clear();
      return finish_locked();
    }
    if (bytes > 0 && !ending_) {
      loop_.post_from_agent([this, self = self_, bytes] {
        relay_.taken(loop_.view(), number(), bytes);
      });
    }
    if (!queue_.empty()) {
      StartWrite(&queue_.front());
    } else if (ending_) {
      finish_locked();
    }
  }

  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    if (reader_ != 0) relay_cancel(self_);
    if (queue_.empty()) finish_locked();
  }

  void OnDone() override {
    const std::shared_ptr<LogStreamReactor> last = std::move(self_);
  }

  uint64_t number() {
    const std::lock_guard lock(mutex_);
    return reader_;
  }

  void relay_cancel(std::shared_ptr<LogStreamReactor> self) {
    loop_.post_from_agent([this, self = std::move(self)] { relay_.cancel(number()); });
  }

  void finish_locked() {
    if (finished_) return;
    finished_ = true;
    Finish(status_);
  }

  grpc::CallbackServerContext* const context_;
  ServerLoop& loop_;
  LogRelay& relay_;
  std::shared_ptr<LogStreamReactor> self_;
  std::mutex mutex_;
  std::deque<v1::LogPiece> queue_;  // the front is being written
  grpc::Status status_ = grpc::Status::CANCELLED;
  uint64_t reader_ = 0;
  bool ending_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
};

}  // namespace

grpc::ServerWriteReactor<v1::Event>* make_event_stream(grpc::CallbackServerContext* context,
                                                       const v1::WatchEventsRequest& request,
                                                       EventLog& events, ServerProbe& probe) {
  return new EventStream(context, request, events, probe);
}

grpc::ServerWriteReactor<v1::LogPiece>* make_log_stream(grpc::CallbackServerContext* context,
                                                        const v1::ReadLogsRequest& request,
                                                        ServerLoop& loop, LogRelay& relay) {
  auto stream = std::make_shared<LogStreamReactor>(context, loop, relay);
  stream->start(stream, request);
  return stream.get();
}

}  // namespace keiko::server
