#include "core/logship/ship_state.h"

#include <algorithm>

namespace keiko::logship {

void ShipState::set_size(const LogName& name, int64_t size, bool ended) {
  Stream& stream = streams_[name];
  stream.size = std::max(stream.size, size);
  stream.ended = stream.ended || ended;
}

void ShipState::drop(const LogName& name) {
  const auto found = streams_.find(name);
  if (found == streams_.end()) return;
  in_flight_ -= found->second.sent - found->second.written;
  streams_.erase(found);
}

void ShipState::set_open(bool open) {
  open_ = open;
  question_left_ = false;
  paused_.clear();
  in_flight_ = 0;
  for (auto& [name, stream] : streams_) {
    stream.phase = Phase::kUnknown;
    stream.sent = stream.written;
    stream.ended_sent = false;
  }
}

void ShipState::take(const LogReceipt& receipt) {
  if (!receipt.paused.empty()) paused_ = receipt.paused;
  const auto found = streams_.find(receipt.name);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  if (receipt.unwanted || receipt.complete) {
    // One that goes on here is asked about again when it ends.
    if (stream.ended) complete_.push_back(receipt.name);
    return drop(receipt.name);
  }
  if (stream.phase == Phase::kUnknown) return;  // of an earlier call
  if (stream.phase == Phase::kAsked && receipt.paused.empty()) paused_.clear();
  if (stream.phase == Phase::kAsked || receipt.rewind) {
    stream.phase = Phase::kMoving;
    return rewind(stream, receipt.written);
  }
  const int64_t written = std::clamp(receipt.written, stream.written, stream.sent);
  in_flight_ -= written - stream.written;
  stream.written = written;
}

void ShipState::rewind(Stream& stream, int64_t written) {
  in_flight_ -= stream.sent - stream.written;
  stream.sent = stream.written = written;
  stream.ended_sent = false;
}

void ShipState::try_again() { question_left_ = !paused_.empty(); }

std::optional<ShipOrder> ShipState::next() {
  if (!open_ || streams_.empty()) return std::nullopt;
  if (!paused_.empty() && !question_left_) return std::nullopt;
  auto at = last_ ? streams_.upper_bound(*last_) : streams_.begin();
  for (size_t i = 0; i < streams_.size(); ++i, ++at) {
    if (at == streams_.end()) at = streams_.begin();
    std::optional<ShipOrder> order = order_for(at->first, at->second);
    if (!order) continue;
    last_ = order->name;
    return order;
  }
  return std::nullopt;
}

std::optional<ShipOrder> ShipState::order_for(const LogName& name, Stream& stream) {
  if (!paused_.empty()) {  // the first bytes of any stream find out whether there is room again
    question_left_ = false;
    stream.phase = Phase::kAsked;
    rewind(stream, stream.written);
    return ShipOrder{name, stream.written, 0, false};
  }
  if (stream.phase == Phase::kAsked) return std::nullopt;
  if (stream.phase == Phase::kUnknown) {
    stream.phase = Phase::kAsked;
    return ShipOrder{name, stream.written, 0, false};
  }
  const int64_t on_the_way = stream.sent - stream.written;
  const int64_t left = std::max<int64_t>(stream.size - stream.sent, 0);
  const int64_t count = std::min(left, options_.chunk_bytes);
  const bool ends = stream.ended && count == left;
  if (count == 0 && (!ends || stream.ended_sent)) return std::nullopt;
  if (on_the_way + count > options_.stream_window) return std::nullopt;
  if (in_flight_ + count > options_.total_window) return std::nullopt;
  const bool waits = on_the_way > 0 && count < options_.chunk_bytes && !stream.ended;
  if (waits) return std::nullopt;
  ShipOrder order{name, stream.sent, count, ends};
  stream.sent += count;
  stream.ended_sent = ends;
  in_flight_ += count;
  return order;
}

std::vector<LogName> ShipState::take_complete() {
  std::vector<LogName> complete;
  complete.swap(complete_);
  return complete;
}

Acceptance accept(int64_t size, const LogShipment& shipment) {
  Acceptance acceptance;
  acceptance.gap = shipment.offset > size;
  if (acceptance.gap) return acceptance;
  const int64_t known = size - shipment.offset;
  const auto count = static_cast<int64_t>(shipment.data.size());
  acceptance.skip = static_cast<size_t>(std::min(known, count));
  acceptance.ends = shipment.ended;
  return acceptance;
}

}  // namespace keiko::logship
