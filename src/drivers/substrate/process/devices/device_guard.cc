#include "drivers/substrate/process/devices/device_guard.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/text.h"
#include "drivers/substrate/process/devices/device_program.h"
#include "drivers/substrate/process/files.h"

namespace keiko::process {
namespace {

bool has_list(const std::string& folder) { return exists(folder + "/devices.list"); }

std::vector<DeviceRule> without(const std::vector<DeviceRule>& all,
                                const std::vector<DeviceRule>& some) {
  std::vector<DeviceRule> rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
  return rest;
}

/// "a" stands for everything, and a group that may everything lists just that.
bool allows_all(const std::vector<DeviceRule>& rules) {
  return std::any_of(rules.begin(), rules.end(),
                     [](const DeviceRule& rule) { return rule.type == 'a'; });
}

Done write_rules(const std::string& path, const std::vector<DeviceRule>& rules) {
  for (const DeviceRule& rule : rules) {
    if (!write_control(path, to_text(rule))) {
      return errno_error("cannot write '" + to_text(rule) + "' to " + path, errno);
    }
  }
  return done();
}

std::string texts(const std::vector<DeviceRule>& rules) {
  std::vector<std::string> words;
  for (const DeviceRule& rule : rules) words.push_back(to_text(rule));
  return join(words, ", ");
}

Result<std::string> restore_list(const std::string& folder, const std::vector<DeviceRule>& rules) {
  const std::vector<DeviceRule> found =
      sorted(parse_device_rules(TRY(read_file(folder + "/devices.list"))));
  if (found == rules) return std::string();
  if (allows_all(found)) {
    TRY(hold_devices(folder, rules));
    return std::string("every device was allowed");
  }
  const std::vector<DeviceRule> excess = without(found, rules);
  const std::vector<DeviceRule> gone = without(rules, found);
  TRY(write_rules(folder + "/devices.deny", excess));
  // Last: taking away one access of a node that is also wanted must not win.
  TRY(write_rules(folder + "/devices.allow", gone));
  std::vector<std::string> wrong;
  if (!excess.empty()) wrong.push_back("allowed as well: " + texts(excess));
  if (!gone.empty()) wrong.push_back("taken away: " + texts(gone));
  return join(wrong, "; ");
}

}  // namespace

std::string device_group(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (has_list(folder)) return folder;
  }
  for (const std::string& folder : folders) {
    if (exists(folder + "/cgroup.events")) return folder;  // version 2
  }
  return {};
}

Done hold_devices(const std::string& folder, const std::vector<DeviceRule>& rules) {
  if (!has_list(folder)) return attach_device_program(folder, rules);
  if (!write_control(folder + "/devices.deny", "a")) {
    return errno_error("cannot write to " + folder + "/devices.deny", errno);
  }
  return write_rules(folder + "/devices.allow", rules);
}

Result<std::string> restore_devices(const std::string& folder,
                                    const std::vector<DeviceRule>& rules) {
  const std::vector<DeviceRule> wanted = sorted(rules);
  if (has_list(folder)) return restore_list(folder, wanted);
  if (TRY(has_device_program(folder, wanted))) return std::string();
  TRY(attach_device_program(folder, wanted));
  return std::string("the group's device program was replaced or taken away");
}

}  // namespace keiko::process
