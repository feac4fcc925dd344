// Fuzz target: the HTTP router on any method and target.
//
// sources: src/base/*.cc src/server/http/http_router.cc
//
// The input is "METHOD TARGET". A match has every value its pattern names, and decoding is total; a
// refusal has a sentence. The parsing of bodies is protobuf's, held by http_router_test.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "server/http/http_router.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace keiko::server;  // NOLINT
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const size_t space = line.find(' ');
  const std::string_view target = space == std::string_view::npos ? line : line.substr(space + 1);
  const RouteMatch match = match_route(line.substr(0, space), target);
  if (match.status != 200) {
    if (match.message.empty() || (match.status == 405) == match.allow.empty()) std::abort();
    return 0;
  }
  for (const Route& route : http_routes()) {
    if (route.id != match.id) continue;
    size_t names = 0;
    for (const char c : route.pattern) names += c == '{' ? 1 : 0;
    if (match.path.size() != names) std::abort();
  }
  return 0;
}
