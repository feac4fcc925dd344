// Questions about the history: from the contract's messages to asks of the keeper, and back.
#pragma once

#include <map>
#include <string>

#include "keiko/v1/cluster.pb.h"
#include "server/history/history_keeper.h"
#include "server/server_loop.h"

namespace keiko::server {

/// What the state knows of the node that was asked for, if it knows it.
struct HistoryPlace {
  std::string node;                        ///< its name
  std::string device;                      ///< UUID; empty: all
  std::map<std::string, int32_t> indices;  ///< of its present devices, by UUID
  Done known = done();                     ///< why nothing is known of node or device
};

/// RETURNS: kInvalidArgument for spans that make no sense.
Result<HistorySpan> parse_history_span(const v1::GetHistoryRequest& request);

/// Also of a node that was forgotten: its past may still be there. On the loop thread.
HistoryPlace find_history_place(const View& view, const v1::GetHistoryRequest& request);

/// RETURNS: place.known's error if there is nothing and nobody knows the node.
Result<v1::GetHistoryResponse> to_response(const HistoryPlace& place, const HistoryAnswer& answer);

}  // namespace keiko::server
