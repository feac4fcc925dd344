// Device rules on version 2 of cgroups, which has no list: a program of the kernel's own byte code
// (BPF_PROG_TYPE_CGROUP_DEVICE) is asked at every open() of a device node. It is assembled here and
// loaded by bpf(2) itself. Needs CAP_BPF or CAP_SYS_ADMIN. Thread-safe.
//
//   for each rule:  type, access, major, minor fit? -> allow
//   else deny
#pragma once

#include <linux/bpf.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "drivers/substrate/process/devices/device_rules.h"

namespace keiko::process {

/// RETURNS: the program that allows just what the rules allow.
std::vector<bpf_insn> assemble_device_program(const std::vector<DeviceRule>& rules);

/// Makes the group `folder` obey the rules and no other program that was attached to it.
/// RETURNS: kPermissionDenied where this process may not load programs.
Done attach_device_program(const std::string& folder, const std::vector<DeviceRule>& rules);

/// RETURNS: whether just the program of these rules is attached to the group.
Result<bool> has_device_program(const std::string& folder, const std::vector<DeviceRule>& rules);

/// Takes away every device program that was attached to the group itself.
Done detach_device_programs(const std::string& folder);

}  // namespace keiko::process
