#include "drivers/images/cdi/cdi_spec.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "base/text.h"

namespace keiko::images {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOwnKind = "keiko.dev/device";

std::string text_at(const YAML::Node& node, const char* key) {
  const YAML::Node value = node[key];
  return value && value.IsScalar() ? value.as<std::string>() : std::string();
}

void add_nodes(const YAML::Node& edits, CdiEdits& out) {
  for (const YAML::Node& node : edits["deviceNodes"]) {
    const std::string path = text_at(node, "path");
    const auto& files = out.device_files;
    if (path.empty() || std::count(files.begin(), files.end(), path) > 0) continue;
    out.device_files.push_back(path);
  }
}

void add_mounts(const YAML::Node& edits, CdiEdits& out) {
  for (const YAML::Node& node : edits["mounts"]) {
    Mount mount{text_at(node, "hostPath"), text_at(node, "containerPath"), false};
    for (const YAML::Node& option : node["options"]) {
      if (option.IsScalar() && option.as<std::string>() == "ro") mount.read_only = true;
    }
    const bool known = std::count(out.mounts.begin(), out.mounts.end(), mount) > 0;
    if (known || !is_plain_path(mount.source) || !is_plain_path(mount.target)) continue;
    // A driver that was updated, or a daemon that does not run: the rest is of use all the same.
    std::error_code failed;
    if (fs::exists(mount.source, failed)) out.mounts.push_back(std::move(mount));
  }
}

void add_edits(const YAML::Node& edits, CdiEdits& out) {
  if (!edits || !edits.IsMap()) return;
  for (const YAML::Node& line : edits["env"]) {
    const std::string pair = line.IsScalar() ? line.as<std::string>() : std::string();
    const size_t equals = pair.find('=');
    if (equals != std::string::npos && equals > 0) {
      out.env[pair.substr(0, equals)] = pair.substr(equals + 1);
    }
  }
  add_nodes(edits, out);
  add_mounts(edits, out);
}

/// Takes out of `wanted` what the spec names.
void add_devices(const YAML::Node& spec, std::set<std::string>& wanted, CdiEdits& out) {
  if (!spec.IsMap()) return;
  const std::string kind = text_at(spec, "kind");
  bool named = false;
  for (const YAML::Node& device : spec["devices"]) {
    if (wanted.erase(kind + "=" + text_at(device, "name")) == 0) continue;
    named = true;
    add_edits(device["containerEdits"], out);
  }
  if (named) add_edits(spec["containerEdits"], out);
}

std::vector<std::string> spec_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    const std::string ending = entry.path().extension();
    if (ending == ".json" || ending == ".yaml" || ending == ".yml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string json_of(const Device& device) {
  std::vector<std::string> nodes;
  for (const std::string& file : device.files) {
    nodes.push_back(R"({"path":)" + quote_text(file) + "}");
  }
  return R"({"name":)" + quote_text(device.uuid) +
         R"(,"containerEdits":{"deviceNodes":[)" + join(nodes, ",") + "]}}";
}

}  // namespace

std::vector<std::string> usual_cdi_folders() { return {"/var/run/cdi", "/etc/cdi"}; }

Result<CdiEdits> find_cdi_edits(const std::vector<std::string>& folders,
                                const std::vector<std::string>& names,
                                std::vector<std::string>& missing) {
  CdiEdits edits;
  std::set<std::string> wanted(names.begin(), names.end());
  for (const std::string& folder : folders) {
    if (wanted.empty()) break;
    for (const std::string& file : spec_files(folder)) {
      try {
        add_devices(YAML::LoadFile(file), wanted, edits);
      } catch (const YAML::Exception& wrong) {
        return failed_precondition("the device spec " + file + " cannot be read: " + wrong.what());
      }
    }
  }
  missing.insert(missing.end(), wanted.begin(), wanted.end());
  return edits;
}

std::string cdi_spec_of(const std::vector<Device>& devices) {
  std::vector<std::string> rows;
  bool digit_first = false;
  for (const Device& device : devices) {
    // A device without nodes needs no edit, and a spec without one is no spec.
    if (device.files.empty()) continue;
    rows.push_back(json_of(device));
    digit_first = digit_first || std::isdigit(static_cast<unsigned char>(device.uuid[0])) != 0;
  }
  if (rows.empty()) return {};
  // 0.3.0 has all of this but names that begin with a digit, which came with 0.5.0.
  return R"({"cdiVersion":")" + std::string(digit_first ? "0.5.0" : "0.3.0") + R"(","kind":")" +
         kOwnKind + R"(","devices":[)" + join(rows, ",") + "]}\n";
}

}  // namespace keiko::images
