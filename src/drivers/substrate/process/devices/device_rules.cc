#include "drivers/substrate/process/devices/device_rules.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <optional>

#include "base/id.h"
#include "base/text.h"

namespace keiko::process {
namespace {

std::string number_text(int64_t number) {
  return number == kAnyNumber ? "*" : std::to_string(number);
}

bool parse_number(const std::string& text, int64_t& out) {
  uint64_t number = 0;
  if (text == "*") {
    out = kAnyNumber;
    return true;
  }
  if (!parse_digits(text, number)) return false;
  out = static_cast<int64_t>(number);
  return true;
}

std::optional<DeviceRule> parse_rule(const std::string& line) {
  const std::vector<std::string> words = split(trim(line), ' ');
  if (words.size() != 3 || words[0].size() != 1) return std::nullopt;
  const size_t colon = words[1].find(':');
  DeviceRule rule;
  rule.type = words[0][0];
  if (colon == std::string::npos || !parse_number(words[1].substr(0, colon), rule.major) ||
      !parse_number(words[1].substr(colon + 1), rule.minor)) {
    return std::nullopt;
  }
  const auto may = [&](char access) { return words[2].find(access) != std::string::npos; };
  rule.read = may('r');
  rule.write = may('w');
  rule.make = may('m');
  return rule;
}

/// RETURNS: whether there is anything of this name.
bool append_node(const std::string& path, std::vector<DeviceRule>& rules) {
  struct stat found{};
  if (stat(path.c_str(), &found) != 0) return false;
  if (S_ISCHR(found.st_mode) || S_ISBLK(found.st_mode)) {
    rules.push_back({S_ISCHR(found.st_mode) ? 'c' : 'b', static_cast<int64_t>(major(found.st_rdev)),
                     static_cast<int64_t>(minor(found.st_rdev))});
  }
  return true;
}

}  // namespace

std::string to_text(const DeviceRule& rule) {
  std::string text{rule.type};
  text += " " + number_text(rule.major) + ":" + number_text(rule.minor) + " ";
  if (rule.read) text += 'r';
  if (rule.write) text += 'w';
  if (rule.make) text += 'm';
  return text;
}

std::vector<DeviceRule> parse_device_rules(const std::string& text) {
  std::vector<DeviceRule> rules;
  for (const std::string& line : split(text, '\n')) {
    if (const auto rule = parse_rule(line)) rules.push_back(*rule);
  }
  return rules;
}

std::vector<DeviceRule> harmless_device_rules() {
  // Numbers are the kernel's, Documentation/admin-guide/devices.txt.
  return {{'c', 1, 3}, {'c', 1, 5}, {'c', 1, 7}, {'c', 1, 8}, {'c', 1, 9},
          {'c', 5, 0}, {'c', 5, 2}, {'c', 136, kAnyNumber}};
}

std::vector<DeviceRule> rules_of_files(const std::vector<std::string>& files,
                                       std::vector<std::string>& missing) {
  std::vector<DeviceRule> rules;
  for (const std::string& file : files) {
    if (!append_node(file, rules)) missing.push_back(file);
    DIR* const folder = opendir(file.c_str());
    if (folder == nullptr) continue;
    while (const dirent* const entry = readdir(folder)) {
      append_node(file + "/" + entry->d_name, rules);
    }
    closedir(folder);
  }
  return rules;
}

std::vector<DeviceRule> sorted(std::vector<DeviceRule> rules) {
  std::sort(rules.begin(), rules.end());
  rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
  return rules;
}

}  // namespace keiko::process
