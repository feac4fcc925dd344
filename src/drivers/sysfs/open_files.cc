#include "drivers/sysfs/open_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/id.h"

namespace keiko {
namespace {

namespace fs = std::filesystem;

struct OpenFiles {
  bool visible = true;
  bool any = false;
};

/// Looks through one process' descriptors. One that ended meanwhile holds nothing.
OpenFiles look_through(const std::string& folder, const std::vector<std::string>& files) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  if (error) return {error != std::errc::permission_denied, false};
  OpenFiles open;
  while (!error && entry != fs::directory_iterator()) {
    std::error_code unreadable;
    const std::string target = fs::read_symlink(entry->path(), unreadable).string();
    if (unreadable == std::errc::permission_denied) open.visible = false;
    if (!unreadable && std::find(files.begin(), files.end(), target) != files.end()) {
      open.any = true;
    }
    entry.increment(error);
  }
  return open;
}

}  // namespace

Result<std::vector<DeviceProcess>> processes_with_open(const SysfsTree& tree,
                                                       const std::vector<std::string>& files) {
  std::vector<DeviceProcess> processes;
  for (const std::string& name : tree.names("/proc")) {
    uint64_t pid = 0;
    if (!parse_digits(name, pid) || pid == 0) continue;
    const OpenFiles open = look_through(tree.full("/proc/" + name + "/fd"), files);
    if (!open.visible) {
      return Error{Code::kUnimplemented,
                   "who holds the device cannot be told: the files of process " + name +
                       " are hidden from this user; run the agent as root",
                   {}};
    }
    if (open.any) processes.push_back({static_cast<int64_t>(pid), std::nullopt});
  }
  return processes;
}

}  // namespace keiko
