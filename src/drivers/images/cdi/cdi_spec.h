// Specs of the container device interface (CDI), the other way round: what a vendor's toolkit wrote
// of its devices is read, and what this node knows of its own is written, so that other runtimes on
// the machine find the same devices by the same names. Hooks are never run: they are programs with
// root's rights, and what they do for libraries is done without them. Thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/device.h"
#include "model/mount.h"

namespace keiko::images {

/// What a container needs for its devices.
struct CdiEdits {
  std::vector<std::string> device_files;
  std::map<std::string, std::string> env;
  std::vector<Mount> mounts;
};

/// Where specs lie; a device that the first of them names is not looked for in the next.
std::vector<std::string> usual_cdi_folders();

/// Looks for devices by name, "nvidia.com/gpu=GPU-1a2b". What no spec names is appended to
/// `missing`. RETURNS: an Error naming the file if a spec that names one of them cannot be used.
Result<CdiEdits> find_cdi_edits(const std::vector<std::string>& folders,
                                const std::vector<std::string>& names,
                                std::vector<std::string>& missing);

/// RETURNS: the JSON of a spec with the node's devices, by UUID, of kind "keiko.dev/device", in the
/// lowest version of CDI that has all that it uses, as older runtimes refuse newer ones.
std::string cdi_spec_of(const std::vector<Device>& devices);

}  // namespace keiko::images
