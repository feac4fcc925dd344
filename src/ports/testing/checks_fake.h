// FakeChecks: checks that find what the test says. Safe from any thread; deterministic.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "ports/checks.h"

namespace keiko {

class FakeChecks : public Checks {
 public:
  std::vector<CheckOutcome> run(const CheckOrder& order, const std::stop_token& stop) override {
    std::unique_lock lock(mutex_);
    orders_.push_back(order);
    changed_.wait(lock, stop, [this] { return !held_; });
    const bool ended = stop.stop_requested();
    std::vector<CheckOutcome> outcomes;
    for (const Device& device : order.devices) {
      outcomes.push_back(ended ? CheckOutcome{"present", device.uuid, CheckVerdict::kUnknown,
                                              "broken off"}
                               : outcome_of(device.uuid));
    }
    if (order.machine) outcomes.push_back(outcome_of({}));
    return outcomes;
  }

  /// From now on the check of this device (empty: of the machine) finds that.
  void find(const std::string& uuid, CheckOutcome outcome) {
    const std::lock_guard lock(mutex_);
    outcome.uuid = uuid;
    found_[uuid] = std::move(outcome);
  }
  /// The device is no longer there.
  void lose(const std::string& uuid) {
    find(uuid, {"present", uuid, CheckVerdict::kCrit, "it is not there"});
  }
  /// Whether runs wait until they are let go, or stopped.
  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  std::vector<CheckOrder> orders() const {
    const std::lock_guard lock(mutex_);
    return orders_;
  }

 private:
  CheckOutcome outcome_of(const std::string& uuid) const {
    const auto found = found_.find(uuid);
    if (found != found_.end()) return found->second;
    return {uuid.empty() ? "clock" : "present", uuid, CheckVerdict::kOk, "well"};
  }

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, CheckOutcome> found_;
  std::vector<CheckOrder> orders_;
  bool held_ = false;
};

}  // namespace keiko
