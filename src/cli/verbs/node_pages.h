// Every node of the pool, page by page.
#pragma once

#include <memory>

#include "base/result.h"
#include "keiko/v1/cluster.pb.h"
#include "wire/client.h"

namespace keiko::cli {

/// Asks for all pages of a listing. RETURNS: their nodes in one answer.
Result<std::shared_ptr<v1::ListNodesResponse>> all_nodes(Client& client,
                                                         v1::ListNodesRequest request);

}  // namespace keiko::cli
