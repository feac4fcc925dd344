// AttachCall: one end of an Attach call, of a client's or of an agent's, on a connection of its
// own. Calls block: a reader and a writer, one thread each; cancel() is safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "keiko/v1/attach.pb.h"

namespace keiko {

/// Bytes of input that a client may send before the first window frame.
inline constexpr int64_t kAttachInputWindow = 256 * 1024;

class AttachCall {
 public:
  virtual ~AttachCall() = default;

  /// RETURNS: false once the call is over; then finish() tells why.
  virtual bool read(v1::AttachFrame& frame) = 0;
  /// Waits until the frame is on its way, so that a reader who is slow slows the writer.
  /// RETURNS: false once the call is over.
  virtual bool write(const v1::AttachFrame& frame) = 0;
  /// Nothing more will be written.
  virtual void writes_done() = 0;
  virtual void cancel() = 0;
  /// REQUIRES: no other call is under way or follows, cancel() excepted.
  virtual Done finish() = 0;
};

/// Dials the server at `address` as an agent does. Nothing is known of the server until the first
/// frame comes.
std::unique_ptr<AttachCall> dial_agent_attach(const std::string& address);
using DialAttach = std::function<std::unique_ptr<AttachCall>()>;

/// The same as a client does.
std::unique_ptr<AttachCall> dial_client_attach(const std::string& address);

}  // namespace keiko
