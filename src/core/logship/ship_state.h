// ShipState: which bytes of which log an agent sends to the server next.
//
//   unknown ──question──► asked ──receipt──► moving ──end durable──► gone from here
//      ▲                                       │
//      └────────── the call is lost ───────────┘
//
// The server's receipts alone say what it has, so nothing here is worth a file: a fresh state asks
// and goes on. Bytes that were sent and not yet written by the server are bounded, for one stream
// and for all together; streams take turns, a chunk each. While some bytes of a stream are on the
// way, a part of a chunk waits for more: a program that prints line by line costs few messages.
// Pure; for one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "model/logs/log_shipping.h"

namespace keiko::logship {

struct ShipOptions {
  /// At most in one shipment: many streams take turns, and yet the cost of a message is small.
  int64_t chunk_bytes = kMaxLogShipment;
  /// Bytes of one stream on the way and not written by the server: two chunks hide a round trip.
  int64_t stream_window = 128 * 1024;
  /// ... and of all streams: 1,000 agents that all send into a server that stands still cost it at
  /// most 256 MiB.
  int64_t total_window = 256 * 1024;
};

/// What to send: `count` bytes of the node's file from `offset`. Nothing at all is a question.
struct ShipOrder {
  LogName name;
  int64_t offset = 0;
  int64_t count = 0;
  bool ended = false;
};

class ShipState {
 public:
  explicit ShipState(const ShipOptions& options = {}) : options_(options) {}

  /// The node's file has `size` bytes now, and with `ended` will never have more. A stream that is
  /// new here will be shipped.
  void set_size(const LogName& name, int64_t size, bool ended);
  /// The file cannot be read, or nobody wants it: it is not shipped any more.
  void drop(const LogName& name);

  /// The call to the server is open, from its beginning: where it stands is asked for each stream.
  /// Or it is gone.
  void set_open(bool open);
  void take(const LogReceipt& receipt);

  /// RETURNS: what to send now, booked as sent; nothing if there is nothing to send, no room, or
  /// the server takes none.
  std::optional<ShipOrder> next();

  /// The server said it takes nothing now; the same call after a while tries again with a question.
  const std::string& paused() const { return paused_; }
  void try_again();

  /// RETURNS: streams that have ended here, and that are durable at the server, or unwanted there,
  /// since the last call.
  std::vector<LogName> take_complete();

  bool knows(const LogName& name) const { return streams_.count(name) != 0; }
  bool empty() const { return streams_.empty(); }
  int64_t in_flight() const { return in_flight_; }

 private:
  enum class Phase { kUnknown, kAsked, kMoving };
  struct Stream {
    Phase phase = Phase::kUnknown;
    int64_t size = 0;       ///< of the node's file
    int64_t sent = 0;
    int64_t written = 0;    ///< by the server
    bool ended = false;
    bool ended_sent = false;
  };
  using Streams = std::map<LogName, Stream>;

  std::optional<ShipOrder> order_for(const LogName& name, Stream& stream);
  void rewind(Stream& stream, int64_t written);

  ShipOptions options_;
  Streams streams_;
  std::optional<LogName> last_;        ///< whose turn it was
  std::vector<LogName> complete_;
  int64_t in_flight_ = 0;
  bool open_ = false;
  bool question_left_ = false;         ///< one question may be sent although it is paused
  std::string paused_;
};

/// What the server does with a shipment for a log of which it has `size` bytes.
struct Acceptance {
  bool gap = false;     ///< it begins beyond what is here: ask for what lies between
  size_t skip = 0;      ///< first bytes that are here already
  bool ends = false;    ///< the stream is complete with it
};
Acceptance accept(int64_t size, const LogShipment& shipment);

}  // namespace keiko::logship
