// DeviceReadings: what accelerators tell, and their XIDs, through a driver of its own.
//
// The loop's driver would make the loop wait for a slow vendor library, so this one is another,
// used by one sampler thread. A vendor's library is shared all the same: one that lost a device
// shows it again only once everybody has closed it. So while a device is lost, or the driver fails,
// this one is opened for single readings, pauses between, and is closed after each.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/time.h"
#include "ports/clock.h"
#include "ports/devices.h"
#include "telemetry/exposition.h"
#include "telemetry/reading_source.h"

namespace keiko::agent {

class DeviceReadings : public telemetry::ReadingSource {
 public:
  using Make = std::function<Result<std::unique_ptr<Devices>>()>;

  /// `make` is called from the thread that reads.
  DeviceReadings(Make make, std::shared_ptr<Clock> clock)
      : make_(std::move(make)), clock_(std::move(clock)) {}

  Result<std::vector<Reading>> read() override;

  /// RETURNS: the devices as last found, and their XIDs. Safe from any thread.
  std::vector<Device> devices() const;
  std::map<std::string, telemetry::XidRecord> xids() const;

 private:
  Done open();
  Result<std::vector<Reading>> read_open();
  bool take_faults();
  void rest();

  Make make_;
  std::shared_ptr<Clock> clock_;
  std::unique_ptr<Devices> driver_;
  Time found_at_;      ///< when devices were last looked for
  Time rest_until_;    ///< nothing is read before

  mutable std::mutex mutex_;  // guards what follows
  std::vector<Device> devices_;
  std::map<std::string, telemetry::XidRecord> xids_;
};

}  // namespace keiko::agent
