// The network ports of a machine, by the kernel's classes net and infiniband.
#pragma once

#include <vector>

#include "drivers/sysfs/sysfs_tree.h"
#include "model/host.h"

namespace keiko {

/// RETURNS: the ports of the machine in the order of the bus, then those on no PCI bus, then bonds
/// with the ports that they join. Left out: interfaces of software (loopback, bridges, veth,
/// tunnels), virtual functions and their representors, which belong to guests and containers.
std::vector<Nic> read_nics(const SysfsTree& tree);

}  // namespace keiko
