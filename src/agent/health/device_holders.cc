#include "agent/health/device_holders.h"

#include <fstream>
#include <utility>

#include "base/text.h"
#include "ports/substrate.h"

namespace keiko::agent {
namespace {

/// In the worker's folder, which goes with the worker.
std::string devices_file(const std::string& state_dir, const WorkerKey& key) {
  return worker_paths(state_dir, key).folder + "/devices";
}

std::vector<std::string> uuids_of(const std::vector<Device>& devices) {
  std::vector<std::string> uuids;
  for (const Device& device : devices) uuids.push_back(device.uuid);
  return uuids;
}

}  // namespace

DeviceHolders::DeviceHolders(std::string state_dir, const std::vector<Device>& all)
    : state_dir_(std::move(state_dir)), uuids_(uuids_of(all)) {}

void DeviceHolders::occupy(const WorkerKey& key, const std::vector<Device>& devices) {
  const std::vector<std::string>& held = held_[key] = uuids_of(devices);
  std::ofstream(devices_file(state_dir_, key)) << join(held, "\n") << "\n";
}

void DeviceHolders::adopt(const WorkerKey& key) {
  std::vector<std::string>& held = held_[key];
  std::ifstream file(devices_file(state_dir_, key));
  if (!file) {
    held = uuids_;
    return;
  }
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) held.push_back(line);
  }
}

std::vector<std::string> DeviceHolders::vacate(const WorkerKey& key) {
  const auto found = held_.find(key);
  if (found == held_.end()) return {};
  std::vector<std::string> uuids = std::move(found->second);
  held_.erase(found);
  return uuids;
}

std::vector<std::string> DeviceHolders::of(const WorkerKey& key) const {
  const auto found = held_.find(key);
  return found == held_.end() ? std::vector<std::string>{} : found->second;
}

std::set<std::string> DeviceHolders::all() const {
  std::set<std::string> uuids;
  for (const auto& [key, held] : held_) uuids.insert(held.begin(), held.end());
  return uuids;
}

}  // namespace keiko::agent
