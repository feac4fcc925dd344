// docs/openapi.yaml, carried in the binary.
#pragma once

#include <string>

namespace keiko::server {

std::string openapi_yaml();

}  // namespace keiko::server
