// Which device nodes a worker may open: its own accelerators' and those that every program needs.
//
// A rule is what version 1 of cgroups writes into devices.allow, "c 195:3 rw"; version 2 gets the
// same rules as a program (device_program.h). Pure but for rules_of_files(), which asks the file
// system what a node is. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace keiko::process {

struct DeviceRule {
  char type = 'c';       ///< 'c' or 'b'
  int64_t major = 0;     ///< kAnyNumber: all
  int64_t minor = 0;
  bool read = true;
  bool write = true;
  bool make = false;     ///< mknod

  friend auto operator<=>(const DeviceRule&, const DeviceRule&) = default;
};
constexpr int64_t kAnyNumber = -1;

std::string to_text(const DeviceRule& rule);  ///< "c 195:3 rw", "c 136:* rw"

/// RETURNS: the rules of a devices.list, or of a record; lines that are none are left out.
std::vector<DeviceRule> parse_device_rules(const std::string& text);

/// What any program may open: null, zero, full, random, urandom, tty, ptmx and terminals.
std::vector<DeviceRule> harmless_device_rules();

/// RETURNS: a rule for each of `files` that is a device node; of a folder, for each node in it.
/// What is not there is appended to `missing`.
std::vector<DeviceRule> rules_of_files(const std::vector<std::string>& files,
                                       std::vector<std::string>& missing);

/// RETURNS: the rules in order, each once.
std::vector<DeviceRule> sorted(std::vector<DeviceRule> rules);

}  // namespace keiko::process
