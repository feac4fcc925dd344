// HealthWatch: feeds the node's health brain once a second with what drivers and kernel say, keeps
// its state over restarts, and makes the report that the server gets.
//
//   Devices::faults() ──┐
//   KernelLog ──────────┼─► HealthBrain ─► file "health" of the state folder, HealthReport
//   fingerprints ───────┤
//   room on the disk ───┘
//
// Judged on the node, so that it is decided within a second, with or without a server. One thread.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "agent/state_folder.h"
#include "core/health/checks/disk_guard.h"
#include "core/health/checks/reading_findings.h"
#include "core/health/health_brain.h"
#include "model/node.h"
#include "model/node_health.h"
#include "ports/devices.h"
#include "ports/kernel_log.h"

namespace keiko::agent {

struct HealthSources {
  StateFolder& folder;
  Devices& devices;
  KernelLog* kernel_log = nullptr;       ///< none: only the drivers are asked
  std::function<int64_t()> boot_us;      ///< the kernel's clock: microseconds since its start
  /// Of the state folder's disk; none: the disk is not guarded.
  std::function<Result<health::DiskRoom>()> disk_room = {};
  Bytes disk_floor = mebibytes(64);
  std::set<std::string> missing = {};      ///< devices of the node that did not answer at the start
};

class HealthWatch {
 public:
  /// Goes on from what an earlier agent stored.
  HealthWatch(HealthSources sources, const NodeSpec& spec, Time now);

  /// Looks at everything. RETURNS: whether the report has changed.
  bool look(Time now);

  const HealthReport& report() const { return report_; }
  const health::HealthState& state() const { return brain_.state(); }

  /// What checks found; judged at the next look. That a check passed matters only where it failed.
  void observe(std::vector<Observation> seen);
  /// Looks whether the driver still lists `devices`; what it does not is judged at the next look.
  /// RETURNS: whether one is missing.
  bool miss(const std::vector<Device>& devices, Time now);
  /// What telemetry read; judged at the next look.
  void take_readings(const std::vector<Reading>& readings, Time now);
  /// An operator says that what he names is well. RETURNS: kNotFound if nothing is wrong with it.
  Done clear(const HealthSubject& subject, const std::string& reason, Time now);
  /// Whether the node takes no work because its disk is nearly full.
  bool is_disk_low() const;
  /// RETURNS: why none of these devices takes work now; empty if all may.
  std::string why_no_work(const std::vector<Device>& devices) const;
  /// RETURNS: the devices that the judge has come to suspect without a cause that a re-test ends.
  std::vector<std::string> take_suspects();

 private:
  bool is_open(const HealthSubject& subject, const std::string& cause) const;
  void find_lost(Time now);
  std::vector<Observation> device_faults(Time now);
  std::vector<Observation> kernel_lines(Time now);
  std::vector<Observation> devices_back(Time now);
  std::vector<Observation> disk_news(Time now);
  Observation about_device(const std::string& uuid, Time now) const;
  bool step(Time now, health::EventBody body);
  void store();

  HealthSources sources_;
  const std::string node_;
  const std::string boot_;
  std::set<std::string> uuids_;   ///< as found at the start
  std::set<std::string> lost_;    ///< whole devices or slices that do not answer now
  std::vector<Observation> pending_;  ///< for the next look
  std::vector<std::string> suspects_;
  health::ReadingFindings findings_;
  health::HealthBrain brain_;
  HealthReport report_;
  bool drain_ = false;
  bool log_failed_ = false;       ///< told once, until it can be read again
  bool faults_failed_ = false;
  bool disk_failed_ = false;
  bool store_failed_ = false;
};

/// RETURNS: what a server is told of a node: every device of it and all else that has something.
HealthReport health_report_of(const health::HealthState& state, const std::string& node,
                              const std::set<std::string>& uuids);

}  // namespace keiko::agent
