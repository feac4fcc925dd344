#include "registry.h"

namespace keiko::apps {

const std::vector<DriverRow>& drivers() {
  static const std::vector<DriverRow> rows = {
      {"clock", "system", "CLOCK_BOOTTIME: forward only, runs on while the machine is suspended",
       true},
      {"journal", "sqlite", "one SQLite file, WAL, synchronous=FULL", true},
      {"history", "sqlite", "thinned metrics in one SQLite file beside the journal", true},
      {"checks", "local", "clock, presence, memory, links, computing cores, and hooks", true},
      {"devices", "cpu", "virtual accelerators (cpu slots)", true},
      {"devices", "nvml", "NVIDIA GPUs and MIG slices, where their driver is", false},
      {"devices", "rocm", "AMD GPUs, by what the kernel tells of them", false},
      {"devices", "gaudi", "Intel Gaudi chips, by what the kernel tells of them", false},
      {"devices", "tpu", "Google TPU chips of a cloud machine, by what the kernel tells", false},
      {"devices", "intel", "Intel's discrete GPUs, by what the kernel tells of them", false},
      {"host", "hwloc", "NUMA nodes and cores by hwloc, NICs by what the kernel tells", true},
      {"substrate", "process", "workers as processes, each under a shim of its own", true},
      {"collective", "gloo", "libgloo over TCP, in keiko-train", true},
      // ./dev new driver adds its row above this line.
  };
  return rows;
}

}  // namespace keiko::apps
