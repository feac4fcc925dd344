// The configuration of one worker's container, as the OCI runtime specification 1.0.2 has it: what
// runc is told. A description in, JSON out; what is not said here the worker does not get.
//
// Its root is read-only, it has a user, mount, IPC and PID namespace of its own, no capability, no
// way to new privileges, and its node's network: ranks find each other as plain processes do. The
// root user inside is nobody outside. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace keiko::process {

/// A device node that the worker finds at the same path.
struct ContainerDevice {
  std::string path;
  char type = 'c';
  int64_t major = 0;
  int64_t minor = 0;
};

struct ContainerSpec {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::string workdir;
  std::string cgroup;       ///< path of the group that the runtime makes for the start
  std::vector<ContainerDevice> devices;
};

/// RETURNS: config.json for a bundle whose root file system is `rootfs`.
std::string oci_config(const ContainerSpec& spec);

}  // namespace keiko::process
