// Files after the kernel's Documentation/ABI: sysfs-class-net, sysfs-class-net-statistics and
// sysfs-class-infiniband.
#include "drivers/host/proc/network_readings.h"

#include <optional>

#include "base/text.h"

namespace keiko {
namespace {

struct NamedFile {
  const char* name;
  const char* file;
};

constexpr NamedFile kNicFiles[] = {
    {"received_bytes", "statistics/rx_bytes"},     {"sent_bytes", "statistics/tx_bytes"},
    {"received_packets", "statistics/rx_packets"}, {"sent_packets", "statistics/tx_packets"},
    {"receive_errors", "statistics/rx_errors"},    {"send_errors", "statistics/tx_errors"},
    {"receive_drops", "statistics/rx_dropped"},    {"send_drops", "statistics/tx_dropped"},
    {"falls", "carrier_down_count"}};

constexpr NamedFile kPortFiles[] = {
    {"receive_errors", "counters/port_rcv_errors"},
    {"send_discards", "counters/port_xmit_discards"},
    {"send_waits", "counters/port_xmit_wait"},
    {"symbol_errors", "counters/symbol_error"},
    {"link_recoveries", "counters/link_error_recovery"},
    {"falls", "counters/link_downed"},
    {"integrity_errors", "counters/local_link_integrity_errors"},
    {"overruns", "counters/excessive_buffer_overrun_errors"},
    {"out_of_sequence", "hw_counters/out_of_sequence"},
    {"packet_sequence_errors", "hw_counters/packet_seq_err"},
    {"ack_timeouts", "hw_counters/local_ack_timeout_err"},
    {"rnr_retries", "hw_counters/rnr_nak_retry_err"},
    {"adaptive_retransmissions", "hw_counters/roce_adp_retrans"},
    {"slow_restarts", "hw_counters/roce_slow_restart"}};

/// Traffic counters that stop at their end instead of wrapping: then nobody knows any more.
struct TrafficFile {
  const char* name;
  const char* file;
  double scale;
};
constexpr TrafficFile kTraffic[] = {{"received_bytes", "counters/port_rcv_data", 4},  // words of 4
                                    {"sent_bytes", "counters/port_xmit_data", 4},
                                    {"received_packets", "counters/port_rcv_packets", 1},
                                    {"sent_packets", "counters/port_xmit_packets", 1}};
constexpr int64_t kStuck = 0xffffffff;

/// "400 Gb/sec (4X NDR)" -> 5e10.
std::optional<double> speed_of(const std::string& rate) {
  double gigabits = 0;
  const size_t length = scan_number(rate, gigabits);
  if (length == 0 || rate.compare(length, 7, " Gb/sec") != 0) return std::nullopt;
  return gigabits * 1e9 / 8;
}

}  // namespace

Result<std::vector<Reading>> NetworkReadings::read() {
  std::vector<Reading> readings;
  for (const std::string& name : tree_.names("/sys/class/net")) {
    if (is_hardware("/sys/class/net/" + name)) readings.push_back(read_nic(name));
  }
  for (const std::string& device : tree_.names("/sys/class/infiniband")) {
    for (const std::string& port : tree_.names("/sys/class/infiniband/" + device + "/ports")) {
      readings.push_back(read_port(device, port));
    }
  }
  return readings;
}

/// A bond is software, but it is what traffic goes through.
bool NetworkReadings::is_hardware(const std::string& folder) const {
  if (tree_.exists(folder + "/bonding")) return true;
  return tree_.exists(folder + "/device") && !tree_.exists(folder + "/device/physfn");
}

void NetworkReadings::put(Values& values, const char* name, const std::string& file,
                          double scale) const {
  const std::optional<int64_t> number = tree_.number(file, {0, INT64_MAX});
  if (number) values[name] = static_cast<double>(*number) * scale;
}

Reading NetworkReadings::read_nic(const std::string& name) const {
  const std::string folder = "/sys/class/net/" + name + "/";
  Reading nic{{SubjectKind::kNic, name}, {}};
  for (const NamedFile& one : kNicFiles) put(nic.values, one.name, folder + one.file);
  // The kernel answers EINVAL for an interface that is switched off: then it has no carrier.
  nic.values["up"] = tree_.number(folder + "carrier", {0, 1}).value_or(0) == 1 ? 1 : 0;
  // Megabits per second; -1 if it does not know.
  const std::optional<int64_t> speed = tree_.number(folder + "speed", {1, 10'000'000});
  if (speed) nic.values["speed_bytes_per_s"] = static_cast<double>(*speed) * 1e6 / 8;
  return nic;
}

Reading NetworkReadings::read_port(const std::string& device, const std::string& port) const {
  const std::string folder = "/sys/class/infiniband/" + device + "/ports/" + port + "/";
  Reading reading{{SubjectKind::kRdma, device + "/" + port}, {}};
  for (const NamedFile& one : kPortFiles) put(reading.values, one.name, folder + one.file);
  for (const TrafficFile& one : kTraffic) {
    if (tree_.number(folder + one.file) == kStuck) continue;
    put(reading.values, one.name, folder + one.file, one.scale);
  }
  const std::optional<std::string> state = tree_.text(folder + "state");
  if (state) reading.values["up"] = state->rfind("4:", 0) == 0 ? 1 : 0;
  const auto speed = speed_of(tree_.text(folder + "rate").value_or(""));
  if (speed) reading.values["speed_bytes_per_s"] = *speed;
  return reading;
}

}  // namespace keiko
