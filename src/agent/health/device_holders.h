// DeviceHolders: which worker has which devices. What it knows is written beside each worker's
// records, so that the agent after this one knows it, too. For one thread, the agent's loop.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/device.h"
#include "model/worker.h"

namespace keiko::agent {

class DeviceHolders {
 public:
  /// `state_dir`: where workers' folders are; `all`: the devices of the node.
  DeviceHolders(std::string state_dir, const std::vector<Device>& all);

  /// The worker has its devices from now on. REQUIRES: its folder is there.
  void occupy(const WorkerKey& key, const std::vector<Device>& devices);
  /// It was started by an agent before this one. If that did not say what it has, it has them all.
  void adopt(const WorkerKey& key);
  /// Nothing of the worker is left. RETURNS: what it had.
  std::vector<std::string> vacate(const WorkerKey& key);

  /// RETURNS: the UUIDs of what the worker has.
  std::vector<std::string> of(const WorkerKey& key) const;
  /// RETURNS: the UUIDs of all that workers have.
  std::set<std::string> all() const;

 private:
  const std::string state_dir_;
  std::vector<std::string> uuids_;
  std::map<WorkerKey, std::vector<std::string>> held_;
};

}  // namespace keiko::agent
