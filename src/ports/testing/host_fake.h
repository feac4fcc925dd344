// FakeHost: a machine by script. A test sets what is there and breaks it. For one thread.
#pragma once

#include <utility>

#include "ports/host.h"

namespace keiko {

class FakeHost : public Host {
 public:
  explicit FakeHost(HostSpec spec) : spec_(std::move(spec)) {}

  Result<HostSpec> fingerprint() override {
    if (error_.code != Code::kOk) return error_;
    return spec_;
  }

  /// What the next fingerprint finds.
  void set_spec(HostSpec spec) { spec_ = std::move(spec); }
  /// fingerprint() fails with this error until it is called with a code of kOk.
  void fail_with(Error error) { error_ = std::move(error); }

 private:
  HostSpec spec_;
  Error error_{Code::kOk, {}, {}};
};

/// RETURNS: a machine of two NUMA nodes with four cores each, and a NIC on the first.
inline HostSpec fake_host() {
  HostSpec spec;
  spec.packages = 2;
  spec.numa = {{0, 0, "0-3", gibibytes(16)}, {1, 1, "4-7", gibibytes(16)}};
  Nic nic;
  nic.name = nic.interface = "eth0";
  nic.pci_address = "0000:11:00.0";
  nic.numa_node = 0;
  nic.up = true;
  nic.megabits_per_s = 100'000;
  spec.nics = {nic};
  spec.slots = {{"pci0000:10/0000:10:01.0/0000:11:00.0", 0}};
  return spec;
}

}  // namespace keiko
