// For tests: the half of a server in memory that knows nodes.
#pragma once

#include <string>
#include <vector>

#include "wire/client.h"

namespace keiko::cli {

/// Answers about nodes from what the test put into it; records what was asked.
class FakeNodes : public Client {
 public:
  std::vector<v1::Node> nodes;
  std::vector<v1::ActOnNodeRequest> node_actions;
  v1::GetHistoryResponse history;
  v1::GetHistoryRequest history_asked;
  Done reachable = done();                 ///< what every call gives if it is an error

  Result<v1::ListNodesResponse> list_nodes(const v1::ListNodesRequest&) override {
    TRY(reachable);
    v1::ListNodesResponse response;
    for (const v1::Node& node : nodes) *response.add_nodes() = node;
    return response;
  }
  Result<v1::Node> get_node(const v1::GetNodeRequest& request) override {
    TRY(reachable);
    for (const v1::Node& node : nodes) {
      if (node.name() == request.node()) return node;
    }
    return not_found("no node " + request.node());
  }
  Result<v1::ActOnNodeResponse> act_on_node(const v1::ActOnNodeRequest& request) override {
    TRY(reachable);
    node_actions.push_back(request);
    v1::ActOnNodeResponse response;
    response.set_node(request.node());
    return response;
  }
  Result<v1::GetHistoryResponse> get_history(const v1::GetHistoryRequest& request) override {
    TRY(reachable);
    history_asked = request;
    return history;
  }
};

}  // namespace keiko::cli
