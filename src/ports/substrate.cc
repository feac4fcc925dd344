#include "ports/substrate.h"

#include <sys/un.h>
#include <unistd.h>

#include "base/digest.h"

namespace keiko {
namespace {

/// A socket's path must fit sun_path with its terminating zero. A deep state directory gets a short
/// name under /tmp instead, the same one every time.
std::string socket_path(const std::string& folder) {
  std::string path = folder + "/socket";
  if (path.size() < sizeof(sockaddr_un::sun_path)) return path;
  return "/tmp/keiko-" + std::to_string(getuid()) + "-" + to_text(digest_of(folder)) + ".socket";
}

}  // namespace

WorkerPaths worker_paths(const std::string& state_dir, const WorkerKey& key) {
  WorkerPaths paths;
  paths.folder = state_dir + "/workers/" + to_text(key);
  const std::string log = state_dir + "/logs/" + to_text(key.job) + "/" +
                          std::to_string(key.attempt) + "/" + std::to_string(key.rank);
  paths.out = log + ".out";
  paths.err = log + ".err";
  paths.socket = socket_path(paths.folder);
  return paths;
}

}  // namespace keiko
