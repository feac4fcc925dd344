#include "drivers/substrate/process/image/oci_config.h"

#include "base/text.h"
#include "drivers/substrate/process/image/confinement.h"
#include "drivers/substrate/process/image/user_map.h"

namespace keiko::process {
namespace {

std::string list_of(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(quote_text(text));
  return "[" + join(quoted, ",") + "]";
}

std::string process_of(const ContainerSpec& spec) {
  std::vector<std::string> env;
  for (const auto& [name, value] : spec.env) env.push_back(name + "=" + value);
  return R"({"terminal":false,"user":{"uid":0,"gid":0},"args":)" + list_of(spec.argv) +
         R"(,"env":)" + list_of(env) + R"(,"cwd":)" + quote_text(spec.workdir) +
         R"(,"noNewPrivileges":true,"capabilities":{"bounding":[],"effective":[],)"
         R"("inheritable":[],"permitted":[],"ambient":[]}})";
}

std::string mount_of(const std::string& target, const std::string& type, const std::string& source,
                     const std::vector<std::string>& options) {
  return R"({"destination":)" + quote_text(target) + R"(,"type":)" + quote_text(type) +
         R"(,"source":)" + quote_text(source) + R"(,"options":)" + list_of(options) + "}";
}

std::string mounts() {
  // /tmp, /sys, folders of the job and the socket are there before the runtime comes.
  const std::vector<std::string> all = {
      mount_of("/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}),
      mount_of("/dev", "tmpfs", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"}),
      mount_of("/dev/pts", "devpts", "devpts",
               {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}),
      // No size: data loaders hand batches through it. The worker's memory limit counts it.
      mount_of("/dev/shm", "tmpfs", "shm", {"nosuid", "noexec", "nodev", "mode=1777"}),
      mount_of("/dev/mqueue", "mqueue", "mqueue", {"nosuid", "noexec", "nodev"}),
  };
  return "[" + join(all, ",") + "]";
}

std::string devices_of(const ContainerSpec& spec) {
  std::vector<std::string> nodes;
  for (const ContainerDevice& device : spec.devices) {
    nodes.push_back(R"({"path":)" + quote_text(device.path) + R"(,"type":")" + device.type +
                    R"(","major":)" + std::to_string(device.major) + R"(,"minor":)" +
                    std::to_string(device.minor) + "}");
  }
  return "[" + join(nodes, ",") + "]";
}

/// The same rules again for the moment in which the runtime's own group holds the worker.
std::string device_rules_of(const ContainerSpec& spec) {
  std::string rules = R"({"allow":false,"access":"rwm"})";
  for (const ContainerDevice& device : spec.devices) {
    rules += R"(,{"allow":true,"type":")" + std::string(1, device.type) + R"(","major":)" +
             std::to_string(device.major) + R"(,"minor":)" + std::to_string(device.minor) +
             R"(,"access":"rw"})";
  }
  return "[" + rules + "]";
}

std::string mapping() {
  return R"([{"containerID":0,"hostID":)" + std::to_string(kImageUsersFirst) + R"(,"size":)" +
         std::to_string(kImageUsers) + "}]";
}

std::string seccomp() {
  std::vector<std::string> names;
  for (const DeniedCall& call : denied_calls()) names.emplace_back(call.name);
  return R"({"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"action":"SCMP_ACT_ERRNO","names":)" +
         list_of(names) + "}]}";
}

std::string linux_of(const ContainerSpec& spec) {
  const std::vector<std::string> masked = {
      "/proc/acpi",       "/proc/asound",      "/proc/kcore",       "/proc/keys",
      "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi",      "/proc/timer_list",
      "/proc/timer_stats", "/sys/firmware",     "/sys/kernel/debug", "/sys/kernel/security"};
  const std::vector<std::string> read_only = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                              "/proc/sysrq-trigger"};
  return R"({"namespaces":[{"type":"user"},{"type":"mount"},{"type":"ipc"},{"type":"pid"}],)"
         R"("uidMappings":)" + mapping() + R"(,"gidMappings":)" + mapping() +
         R"(,"cgroupsPath":)" + quote_text(spec.cgroup) + R"(,"devices":)" + devices_of(spec) +
         R"(,"resources":{"devices":)" + device_rules_of(spec) + R"(},"seccomp":)" + seccomp() +
         R"(,"maskedPaths":)" + list_of(masked) + R"(,"readonlyPaths":)" + list_of(read_only) + "}";
}

}  // namespace

std::string oci_config(const ContainerSpec& spec) {
  return R"({"ociVersion":"1.0.2","process":)" + process_of(spec) +
         R"(,"root":{"path":"rootfs","readonly":true},"mounts":)" + mounts() + R"(,"linux":)" +
         linux_of(spec) + "}\n";
}

}  // namespace keiko::process
