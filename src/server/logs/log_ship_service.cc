// One shipment at a time goes to the archive; receipts wait here, the latest of each log.
#include "server/logs/log_ship_service.h"

#include <grpcpp/server_context.h>

#include "base/log.h"
#include "wire/convert.h"
#include "wire/grpc_status.h"
#include "wire/session_mark.h"
#include "wire/stream/read_end.h"

namespace keiko::server {
namespace {

class ShipStream : public grpc::ServerBidiReactor<v1::LogShipment, v1::LogReceipt>,
                   public ShipPort {
 public:
  explicit ShipStream(LogArchive* archive) : archive_(archive) {}

  void start(const std::shared_ptr<ShipStream>& self, grpc::CallbackServerContext* context) {
    self_ = self;
    context_ = context;
    if (archive_ == nullptr) {
      const std::lock_guard lock(mutex_);
      return finish_locked(
          grpc::Status(grpc::UNIMPLEMENTED, "this server keeps no output of workers"));
    }
    context->AddInitialMetadata(kSessionMark, "1");
    StartSendInitialMetadata();
    StartRead(&incoming_);
  }

  void receipt(const LogReceipt& receipt) override {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    LogReceipt& waiting = receipts_[receipt.name];
    // These must not be lost to a later one.
    const bool rewind = waiting.rewind || receipt.rewind;
    const bool complete = waiting.complete || receipt.complete;
    waiting = receipt;
    waiting.rewind = rewind;
    waiting.complete = complete;
    write_next_locked();
  }

  void read_next() override {
    const std::lock_guard lock(mutex_);
    if (!finished_) StartRead(&incoming_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) {
      const std::lock_guard lock(mutex_);
      return finish_locked(status_of_read_end(*context_));
    }
    Result<LogShipment> shipment = from_proto(std::move(incoming_));
    if (shipment.ok()) return archive_->take(self_, std::move(*shipment));
    log_warn("log_shipment_refused", "error=" + quote_text(shipment.error().text()));
    const std::lock_guard lock(mutex_);
    finish_locked(to_status(shipment.error()));
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok) return finish_locked(grpc::Status::CANCELLED);
    if (finishing_) return finish_locked(status_);
    write_next_locked();
  }

  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    finish_locked(grpc::Status::CANCELLED);
  }

  void OnDone() override { const std::shared_ptr<ShipStream> last = std::move(self_); }

  void write_next_locked() {
    if (finished_ || finishing_ || writing_ || receipts_.empty()) return;
    const auto first = receipts_.begin();
    outgoing_ = to_proto(first->second);
    receipts_.erase(first);
    writing_ = true;
    StartWrite(&outgoing_);
  }

  /// Not while a write is under way.
  void finish_locked(const grpc::Status& status) {
    if (finished_) return;
    if (!finishing_) status_ = status;
    finishing_ = true;
    if (writing_) return;
    finished_ = true;
    Finish(status_);
  }

  LogArchive* const archive_;
  grpc::CallbackServerContext* context_ = nullptr;
  std::shared_ptr<ShipStream> self_;
  v1::LogShipment incoming_;
  std::mutex mutex_;
  std::map<LogName, LogReceipt> receipts_;
  v1::LogReceipt outgoing_;
  grpc::Status status_;
  bool writing_ = false;
  bool finishing_ = false;
  bool finished_ = false;
};

}  // namespace

grpc::ServerBidiReactor<v1::LogShipment, v1::LogReceipt>* make_ship_stream(
    grpc::CallbackServerContext* context, LogArchive* archive) {
  auto stream = std::make_shared<ShipStream>(archive);
  stream->start(stream, context);
  return stream.get();
}

}  // namespace keiko::server
