// What image-spec's JSON says, held against what is needed of it. Pure; a text that is no such JSON
// is an Error.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace keiko::images {

struct Manifest {
  std::string config;                ///< digest, in hex
  std::vector<std::string> layers;   ///< digests
};

/// index.json, or an index that it names. RETURNS: the digest of this machine's image; `nested` if
/// that is an index again.
Result<std::string> choose_manifest(const std::string& json, bool& nested);
Result<Manifest> read_manifest(const std::string& json);

/// The manifest.json of `docker save`: names of parts.
Result<Manifest> read_docker_manifest(const std::string& json);

struct ImageConfig {
  std::map<std::string, std::string> env;
  std::vector<std::string> diff_ids;   ///< digests of its layers, unpacked
};
/// RETURNS: kFailedPrecondition if it is for another kind of machine.
Result<ImageConfig> read_config(const std::string& json);

/// What image-spec calls this machine: "amd64".
const char* machine_word();

}  // namespace keiko::images
