#include "cli/verbs/node_pages.h"

#include <utility>

namespace keiko::cli {

Result<std::shared_ptr<v1::ListNodesResponse>> all_nodes(Client& client,
                                                         v1::ListNodesRequest request) {
  auto all = std::make_shared<v1::ListNodesResponse>();
  request.set_page_size(1000);
  do {
    v1::ListNodesResponse page = TRY(client.list_nodes(request));
    for (v1::Node& node : *page.mutable_nodes()) *all->add_nodes() = std::move(node);
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return all;
}

}  // namespace keiko::cli
