// DeviceReadings: what accelerators tell, their XIDs, and who holds them, through a driver of its
// own.
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
#include "model/health.h"
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

  /// RETURNS: the devices as last found, with the labels that go with them: XIDs, GPU instances.
  /// Safe from any thread.
  telemetry::ExpositionTerms terms(const std::string& node) const;

  /// The kernel's log told of an XID. Safe from any thread.
  void hear(const Observation& told);

  /// RETURNS: who holds NVIDIA's devices, as read within the last seconds; the first call asks for
  /// it to be read from then on, a pause of some seconds ends that. Safe from any thread.
  std::vector<DeviceProcess> holders();

 private:
  Done open();
  Result<std::vector<Reading>> read_open();
  bool take_faults();
  void read_holders();
  void take_instance(const std::string& uuid, Values& values);
  void count_locked(telemetry::XidSighting seen);
  void rest();

  Make make_;
  std::shared_ptr<Clock> clock_;
  std::unique_ptr<Devices> driver_;
  Time found_at_;      ///< when devices were last looked for
  Time rest_until_;    ///< nothing is read before

  mutable std::mutex mutex_;  // guards what follows
  std::vector<Device> devices_;
  std::map<std::string, int64_t> gpu_instances_;  ///< by UUID
  telemetry::XidLedger xids_;
  Time counted_at_;  ///< of the last XID
  Time asked_at_;    ///< when somebody wanted to know who holds devices
  Time held_at_;     ///< when that was read
  std::vector<DeviceProcess> holders_;
};

}  // namespace keiko::agent
