// StreamSlot: who dials owns one stream at a time, and waits for its end. Only .cc files that speak
// gRPC include this. Thread-safe; open() and the destructor are for one thread.
#pragma once

#include <grpc/grpc.h>

#include <memory>
#include <mutex>

#include "base/time.h"

namespace keiko {

/// gRPC ends its threads when its last user goes. The last thing of a channel goes on one of those
/// very threads, so that a detached thread does it, which then meets the destructors of a process
/// that exits. So gRPC is never told that all is over.
inline void keep_grpc() {
  static const bool kept = (grpc_init(), true);
  static_cast<void>(kept);
}

/// One stream at a time: the last one dialled.
template <class Stream>
class StreamSlot {
 public:
  StreamSlot() { keep_grpc(); }
  ~StreamSlot() {
    const std::shared_ptr<Stream> stream = current();
    if (!stream) return;
    stream->cancel();
    stream->wait_until_done();
  }

  std::shared_ptr<Stream> current() {
    const std::lock_guard lock(mutex_);
    return stream_;
  }

  void open(std::shared_ptr<Stream> stream, Duration connect_timeout) {
    const std::shared_ptr<Stream> old = current();
    // on_closed is a stream's last word, but its callback may not have returned yet.
    if (old) old->wait_until_done();
    {
      const std::lock_guard lock(mutex_);
      stream_ = stream;
    }
    stream->start(connect_timeout);
  }

  void close() {
    const std::shared_ptr<Stream> stream = current();
    if (stream && !stream->is_done()) stream->cancel();
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<Stream> stream_;
};

}  // namespace keiko
