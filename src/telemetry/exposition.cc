#include "telemetry/exposition.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <set>

#include "telemetry/catalogue.h"

namespace keiko::telemetry {
namespace {

std::string label(std::string_view name, std::string_view value) {
  return std::string(name) + "=\"" + label_text(value) + "\"";
}

std::string joined(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + "," + b;
}

void print_head(std::string& out, const std::string& name, const char* kind,
                const std::string& help) {
  out += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n";
}

void print_sample(std::string& out, const std::string& name, const std::string& labels,
                  const std::string& value) {
  out += name + "{" + labels + "} " + value + "\n";
}

/// "/dev/nvidia3" -> "nvidia3".
std::string file_name_of(const Device& device) {
  for (const std::string& file : device.files) {
    const std::string name = file.substr(file.rfind('/') + 1);
    if (name.rfind("nvidia", 0) == 0 && name.find_first_of("0123456789") == 6) return name;
  }
  return {};
}

/// "0000:3b:00.0" -> "00000000:3B:00.0", as NVIDIA's library writes it.
std::string long_pci_address(const std::string& address) {
  std::string out = address;
  for (char& c : out) c = static_cast<char>(c >= 'a' && c <= 'f' ? c - 'a' + 'A' : c);
  return out.find(':') == 4 ? "0000" + out : out;
}

/// What is the same in all samples of one subject.
class Labels {
 public:
  explicit Labels(const ExpositionTerms& terms) : terms_(terms) {
    int64_t gpu = -1;
    std::string parent;
    for (const Device& device : terms.devices) {
      const bool same_gpu = !device.parent_uuid.empty() && device.parent_uuid == parent;
      gpu += same_gpu ? 0 : 1;
      parent = device.parent_uuid;
      devices_[device.uuid] = &device;
      dcgm_[device.uuid] = dcgm_labels(device, gpu);
    }
  }

  /// RETURNS: the labels of Keiko's own metrics.
  std::string of(const Subject& subject) const {
    const std::string node = label("node", terms_.node);
    switch (subject.kind) {
      case SubjectKind::kNode: return node;
      case SubjectKind::kDevice: return joined(node, device_labels(subject.id));
      case SubjectKind::kWorker: return joined(node, worker_labels(subject.id));
      case SubjectKind::kNic: return joined(node, label("nic", subject.id));
      case SubjectKind::kRdma: return joined(node, label("port", subject.id));
      case SubjectKind::kDisk: return joined(node, label("disk", subject.id));
    }
    return node;
  }

  /// RETURNS: the labels of the DCGM exporter; empty for what is not NVIDIA's.
  std::string dcgm_of(const std::string& uuid) const {
    const auto found = dcgm_.find(uuid);
    return found == dcgm_.end() ? std::string() : found->second;
  }

  const Device* device(const std::string& uuid) const {
    const auto found = devices_.find(uuid);
    return found == devices_.end() ? nullptr : found->second;
  }

 private:
  std::string device_labels(const std::string& uuid) const {
    const Device* found = device(uuid);
    // What is no device: a GPU that is split, or one that only the kernel's log names.
    if (found == nullptr) return label(uuid.find(':') == 4 ? "pci" : "uuid", uuid);
    std::string out = label("device", std::to_string(found->index)) + "," + label("uuid", uuid) +
                      "," + label("kind", found->kind);
    if (!found->mig_profile.empty()) out += "," + label("mig_profile", found->mig_profile);
    const std::string instance = instance_of(uuid);
    return instance.empty() ? out : out + "," + label("gpu_instance", instance);
  }

  std::string instance_of(const std::string& uuid) const {
    const auto found = terms_.gpu_instances.find(uuid);
    return found == terms_.gpu_instances.end() ? std::string() : std::to_string(found->second);
  }

  static std::string worker_labels(const std::string& key) {
    return label("job", key.substr(0, key.find('.'))) + "," +
           label("rank", key.substr(key.rfind('.') + 1)) + "," + label("worker", key);
  }

  std::string dcgm_labels(const Device& device, int64_t gpu) const {
    if (device.vendor != "nvidia") return {};
    std::string out = label("gpu", std::to_string(gpu)) + "," + label("UUID", device.uuid) + "," +
                      label("pci_bus_id", long_pci_address(device.pci_address)) + "," +
                      label("device", file_name_of(device)) + "," +
                      label("modelName", device.product);
    if (!device.mig_profile.empty()) out += "," + label("GPU_I_PROFILE", device.mig_profile);
    const std::string instance = instance_of(device.uuid);
    if (!instance.empty()) out += "," + label("GPU_I_ID", instance);
    return out + "," + label("Hostname", terms_.node) + "," +
           label("DCGM_FI_DRIVER_VERSION", device.driver_version);
  }

  const ExpositionTerms& terms_;
  std::map<std::string, const Device*> devices_;
  std::map<std::string, std::string> dcgm_;
};

/// DCGM's gauges have few digits and its counters are whole; a scale must not add noise to either.
std::string dcgm_number(const MetricRow& row, double value) {
  const double scaled = value * row.scale * row.dcgm.scale;
  if (row.kind == MetricKind::kCounter) return number_text(std::round(scaled));
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", scaled);
  return text;
}

/// RETURNS: the samples of one row.
std::string row_text(const MetricRow& row, const std::vector<Reading>& readings,
                     const Labels& labels) {
  std::string out;
  for (const Reading& reading : readings) {
    if (reading.subject.kind != row.subject) continue;
    const auto value = reading.values.find(row.reading);
    if (value == reading.values.end() || !std::isfinite(value->second)) continue;
    print_sample(out, row.name, joined(labels.of(reading.subject), row.labels),
                 number_text(value->second * row.scale));
  }
  return out;
}

/// The first row of a name carries its help, whether it has samples or not.
void print_own(std::string& out, const std::vector<Reading>& readings, const Labels& labels) {
  const MetricRow* first = nullptr;
  bool head_printed = false;
  for (const MetricRow& row : catalogue()) {
    if (first == nullptr || std::string_view(first->name) != row.name) {
      first = &row;
      head_printed = false;
    }
    const std::string samples = row_text(row, readings, labels);
    if (samples.empty()) continue;
    if (!head_printed) print_head(out, row.name, to_text(row.kind).c_str(), first->help);
    head_printed = true;
    out += samples;
  }
}

void print_dcgm(std::string& out, const std::vector<Reading>& readings, const Labels& labels) {
  for (const MetricRow& row : catalogue()) {
    if (row.dcgm.name == nullptr) continue;
    bool head_printed = false;
    for (const Reading& reading : readings) {
      if (reading.subject.kind != row.subject) continue;
      const std::string device = labels.dcgm_of(reading.subject.id);
      const auto value = reading.values.find(row.reading);
      if (device.empty() || value == reading.values.end() || !std::isfinite(value->second)) {
        continue;
      }
      if (!head_printed) {
        print_head(out, row.dcgm.name, to_text(row.kind).c_str(), row.dcgm.help);
        head_printed = true;
      }
      print_sample(out, row.dcgm.name, device, dcgm_number(row, value->second));
    }
  }
}

/// RETURNS: the XIDs of a device; of the GPU that it is a slice of, if it has none itself.
XidRecord xids_of(const ExpositionTerms& terms, const Device& device) {
  for (const std::string& key : {device.uuid, device.parent_uuid}) {
    const auto found = terms.xids.find(key);
    if (found != terms.xids.end() && found->second.last != 0) return found->second;
  }
  return {};
}

/// The last XID never clears, as boards expect; ours counts each, so that repeats show.
void print_xids(std::string& out, const ExpositionTerms& terms, const Labels& labels) {
  std::string gauges;
  for (const Device& device : terms.devices) {
    const std::string dcgm = labels.dcgm_of(device.uuid);
    if (dcgm.empty()) continue;
    const XidRecord xids = xids_of(terms, device);
    const std::string last = std::to_string(xids.last);
    print_sample(gauges, "DCGM_FI_DEV_XID_ERRORS",
                 dcgm + "," + label("err_code", last) + "," +
                     label("err_msg", xids.last == 0 ? "No Error" : xids.last_text),
                 last);
  }
  std::string counters;
  for (const auto& [uuid, xids] : terms.xids) {
    for (const auto& [xid, count] : xids.counts) {
      print_sample(counters, "keiko_device_xids_total",
                   labels.of({SubjectKind::kDevice, uuid}) + "," +
                       label("xid", std::to_string(xid)),
                   std::to_string(count));
    }
  }
  if (!counters.empty()) {
    print_head(out, "keiko_device_xids_total", "counter",
               "XIDs since the agent started, by the driver's events and the kernel's log");
    out += counters;
  }
  if (gauges.empty()) return;
  print_head(out, "DCGM_FI_DEV_XID_ERRORS", "gauge", "The last XID; 0 if there was none.");
  out += gauges;
}

void print_devices(std::string& out, const ExpositionTerms& terms, const Labels& labels) {
  if (terms.devices.empty()) return;
  print_head(out, "keiko_device_info", "gauge", "What a device is; always 1");
  for (const Device& device : terms.devices) {
    print_sample(out, "keiko_device_info",
                 labels.of({SubjectKind::kDevice, device.uuid}) + "," +
                     label("vendor", device.vendor) + "," + label("product", device.product) +
                     "," + label("pci", device.pci_address) + "," +
                     label("driver", device.driver_version),
                 "1");
  }
}

}  // namespace

std::string label_text(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
  return out;
}

std::string number_text(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value + 0.0);
  return {text, end};
}

std::string exposition(const std::vector<Reading>& readings, const ExpositionTerms& terms) {
  const Labels labels(terms);
  std::string out;
  print_devices(out, terms, labels);
  print_own(out, readings, labels);
  print_dcgm(out, readings, labels);
  print_xids(out, terms, labels);
  return out;
}

}  // namespace keiko::telemetry
