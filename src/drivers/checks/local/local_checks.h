// LocalChecks: what can be checked from this process, and what an operator's hooks check.
//
//   machine   clock (no time before this program was written)
//   device    present, memory (nobody holds much of it), links (as many and as fast as at the
//             start), compute (a product of known result, on the cores of a cpu slot)
//   hooks     executable files of a folder
//   reset     by a program of the machine's owner; then present and memory
//
// It asks a Devices driver of its own, so that nobody waits for it. Accelerators are not made to
// compute: that would need the vendor's runtime in this process; it is said as not covered. One
// thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drivers/checks/local/options.h"
#include "ports/checks.h"
#include "ports/devices.h"

namespace keiko {

class LocalChecks : public Checks {
 public:
  using MakeDevices = std::function<Result<std::unique_ptr<Devices>>()>;

  LocalChecks(LocalChecksOptions options, MakeDevices make_devices)
      : options_(std::move(options)), make_devices_(std::move(make_devices)) {}

  std::vector<CheckOutcome> run(const CheckOrder& order, const std::stop_token& stop) override;

 private:
  struct Run {
    const CheckOrder& order;
    const std::stop_token& stop;
    std::vector<CheckOutcome> outcomes;
  };
  void check_machine(Run& run) const;
  void check_devices(Run& run);
  void check_memory(Run& run, const Device& device);
  void check_links(Run& run, const Inventory& inventory) const;
  void check_compute(Run& run, const Inventory& inventory, const Device& device) const;
  void run_hooks(Run& run) const;
  void reset(Run& run) const;
  Done open();
  Result<Inventory> inventory(CheckKind kind);
  Result<std::string> holders(const Device& device);

  const LocalChecksOptions options_;
  const MakeDevices make_devices_;
  std::unique_ptr<Devices> devices_;
  std::optional<Inventory> known_;
  std::chrono::steady_clock::time_point known_at_;
};

}  // namespace keiko
