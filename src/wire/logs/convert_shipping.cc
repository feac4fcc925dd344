// Workers' output on its way to the server.
#include "wire/convert.h"

namespace keiko {

v1::LogShipment to_proto(LogShipment shipment) {
  v1::LogShipment out;
  *out.mutable_key() = to_proto(shipment.name.worker);
  out.set_stream(to_text(shipment.name.stream));
  out.set_offset(shipment.offset);
  out.set_data(std::move(shipment.data));
  out.set_ended(shipment.ended);
  return out;
}

Result<LogShipment> from_proto(v1::LogShipment in) {
  LogShipment shipment;
  shipment.name = {from_proto(in.key()), TRY(parse_log_stream(in.stream()))};
  shipment.offset = in.offset();
  shipment.data = std::move(*in.mutable_data());
  shipment.ended = in.ended();
  const WorkerKey& key = shipment.name.worker;
  if (!key.job || key.attempt < 1 || key.rank < 0) {
    return invalid_argument("key: there is no worker " + to_text(key), "key");
  }
  if (shipment.offset < 0) return invalid_argument("offset: must not be below 0", "offset");
  if (shipment.data.size() > kMaxLogShipment) {
    return invalid_argument("data: at most " + std::to_string(kMaxLogShipment) + " bytes at once",
                            "data");
  }
  return shipment;
}

v1::LogReceipt to_proto(const LogReceipt& receipt) {
  v1::LogReceipt out;
  *out.mutable_key() = to_proto(receipt.name.worker);
  out.set_stream(to_text(receipt.name.stream));
  out.set_written(receipt.written);
  out.set_complete(receipt.complete);
  out.set_rewind(receipt.rewind);
  out.set_unwanted(receipt.unwanted);
  out.set_paused(receipt.paused);
  return out;
}

Result<LogReceipt> from_proto(const v1::LogReceipt& in) {
  LogReceipt receipt;
  receipt.name = {from_proto(in.key()), TRY(parse_log_stream(in.stream()))};
  receipt.written = in.written();
  receipt.complete = in.complete();
  receipt.rewind = in.rewind();
  receipt.unwanted = in.unwanted();
  receipt.paused = in.paused();
  return receipt;
}

}  // namespace keiko
