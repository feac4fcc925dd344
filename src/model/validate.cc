// validate() of every noun: one sentence per rule, naming the field and its bounds.
#include <algorithm>
#include <iterator>
#include <set>

#include "base/text.h"
#include "base/utf8.h"
#include "model/job.h"
#include "model/messages.h"
#include "model/node.h"
#include "model/validate.h"

namespace keiko {
namespace {

constexpr const char* kOfDevices[] = {
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",  // of AMD's OpenCL, which HIP obeys as well
    "ZE_AFFINITY_MASK", "ZE_FLAT_DEVICE_HIERARCHY", "ZE_ENABLE_PCI_ID_DEVICE_ORDER",
    "ONEAPI_DEVICE_SELECTOR",
    "HABANA_VISIBLE_DEVICES", "HABANA_VISIBLE_MODULES",
    "TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES", "TPU_CHIPS_PER_PROCESS_BOUNDS",
    "TPU_CHIPS_PER_HOST_BOUNDS", "TPU_PROCESS_BOUNDS", "TPU_HOST_BOUNDS",
    "KEIKO_VISIBLE_DEVICES", "KEIKO_DEVICES"};

constexpr size_t kMaxUserBytes = 256;  // as Linux limits them, LOGIN_NAME_MAX

constexpr const char* kOfPlace[] = {
    "RANK",       "LOCAL_RANK",       "GROUP_RANK",  "ROLE_RANK",
    "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};

Error bad_field(const std::string& field, const std::string& message) {
  return invalid_argument(field + ": " + message, field);
}

Done in_range(const char* field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return done();
  return bad_field(field, std::to_string(value) + " is out of range; it must be " +
                              std::to_string(low) + " to " + std::to_string(high));
}

/// What a program can be given and every reader of the API can be told.
Done is_text(const char* field, const std::string& text) {
  if (text.find('\0') != std::string::npos) {
    return bad_field(field, "contains a NUL byte, which no program can be given");
  }
  const size_t valid = valid_utf8_prefix(text);
  if (valid == text.size()) return done();
  return bad_field(field, quote_text(clean_utf8(text)) + " is not UTF-8 from byte " +
                              std::to_string(valid + 1) + " on; hand such bytes over in a file");
}

Done check_label(const char* field, const std::string& text) {
  if (is_label(text)) return done();
  return bad_field(field,
                   quote_text(clean_utf8(text)) +
                       " is not a name; use 1 to 63 of a-z, 0-9 and '-', no '-' at the ends");
}

/// Verbs take "j12", "12" and names alike.
Done check_not_an_id(const std::string& name) {
  const size_t first = name.starts_with('j') ? 1 : 0;
  const bool digits = first < name.size() &&
                      name.find_first_not_of("0123456789", first) == std::string::npos;
  if (!digits) return done();
  return bad_field("name", quote_text(name) + " would be taken for a job's id; add a letter");
}

/// It is shown in tables and written into logs, a line each.
Done check_user(const std::string& user) {
  TRY(is_text("user", user));
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; };
  const bool broken = std::any_of(user.begin(), user.end(), is_control);
  if (!broken && user.size() <= kMaxUserBytes) return done();
  return bad_field("user", quote_text(clean_utf8(user.substr(0, kMaxUserBytes))) +
                               " is no user's name: " +
                               (broken ? "it holds control characters"
                                       : "it is over " + std::to_string(kMaxUserBytes) + " bytes"));
}

Done check_environment(const std::map<std::string, std::string>& env) {
  for (const auto& [key, value] : env) {
    if (key.empty() || key.find('=') != std::string::npos) {
      return bad_field("env", quote_text(clean_utf8(key)) + " is not a variable name");
    }
    TRY(is_text("env", key));
    TRY(is_text("env", value));
  }
  return done();
}

/// With devices that are not its own a worker would disturb another job; with a place that is not
/// its own a gang would wait for itself for ever.
Done check_reserved(const std::map<std::string, std::string>& env) {
  for (const auto& [name, value] : env) {
    switch (reserved(name)) {
      case Reserved::kNo: break;
      case Reserved::kDevices:
        return bad_field("env", name + " is set by Keiko to the devices that each worker is given; "
                                       "leave it out, and say how many with 'devices'");
      case Reserved::kPlace:
        return bad_field("env", name + " is set by Keiko for each worker; leave it out, and say "
                                       "how many there are with 'workers'");
    }
  }
  return done();
}

Done check_host(const HostSpec& host) {
  TRY(in_range("host.numa", static_cast<int64_t>(host.numa.size()), 0, 4096));
  TRY(in_range("host.nics", static_cast<int64_t>(host.nics.size()), 0, 4096));
  return in_range("host.slots", static_cast<int64_t>(host.slots.size()), 0, 16'384);
}

/// Nodes may start workers anywhere. An empty path is one that was left out.
Done is_absolute(const char* field, const std::string& path) {
  if (path.empty() || path[0] == '/') return is_text(field, path);
  return bad_field(field, quote_text(clean_utf8(path)) + " is not an absolute path");
}

Done check_image(const JobSpec& spec) {
  if (spec.image.empty() && !spec.mounts.empty()) {
    return bad_field("mounts", "only a job with an image has mounts; without one its workers see "
                               "the node's folders anyway");
  }
  TRY(is_text("image", spec.image));
  for (const char* const remote : {"docker://", "https://", "http://", "registry://", "oci://"}) {
    if (!spec.image.starts_with(remote)) continue;
    return bad_field("image", quote_text(spec.image) +
                                  " would be pulled from a registry, which nodes do not do; make "
                                  "an archive where the registry is at hand, `skopeo copy " +
                                  spec.image + " oci-archive:/shared/image.tar`, and give its "
                                  "path");
  }
  if (!spec.image.empty() && !is_plain_path(spec.image)) {
    return bad_field("image", quote_text(spec.image) +
                                  " is not an absolute path; give a folder with a root file "
                                  "system, or an OCI archive or layout, that nodes can read");
  }
  if (spec.mounts.size() > kMaxMounts) {
    return bad_field("mounts", std::to_string(spec.mounts.size()) + " of them; there may be " +
                                   std::to_string(kMaxMounts));
  }
  for (const Mount& mount : spec.mounts) {
    TRY(is_text("mounts", mount.source));
    TRY(is_text("mounts", mount.target));
    if (is_plain_path(mount.source) && is_plain_path(mount.target) && mount.target != "/") continue;
    return bad_field("mounts", quote_text(to_text(mount)) +
                                   ": source and target must be absolute paths without '..', and "
                                   "the target not the root itself");
  }
  return done();
}

}  // namespace

Reserved reserved(std::string_view variable) {
  const auto is_in = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), variable) != std::end(names);
  };
  if (is_in(kOfDevices)) return Reserved::kDevices;
  return is_in(kOfPlace) ? Reserved::kPlace : Reserved::kNo;
}

bool is_label(const std::string& text) {
  if (text.empty() || text.size() > 63 || text.front() == '-' || text.back() == '-') return false;
  for (const char c : text) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) return false;
  }
  return true;
}

int32_t allowed_restarts(const JobSpec& spec) {
  if (spec.restarts != kByKind) return spec.restarts;
  return spec.kind == JobKind::kTrain ? 3 : 0;
}

Done validate(const JobSpec& spec) {
  TRY(check_label("name", spec.name));
  TRY(check_not_an_id(spec.name));
  TRY(check_label("queue", spec.queue));
  TRY(check_user(spec.user));
  if (spec.command.empty() || spec.command[0].empty()) {
    return bad_field("command", "is empty; give the program to run and its arguments");
  }
  for (const std::string& word : spec.command) TRY(is_text("command", word));
  TRY(check_environment(spec.env));
  TRY(check_reserved(spec.env));
  TRY(is_absolute("workdir", spec.workdir));
  TRY(is_absolute("checkpoint_dir", spec.checkpoint_dir));
  TRY(check_image(spec));
  TRY(in_range("priority", spec.priority, -1000, 1000));
  TRY(in_range("workers", spec.workers, 1, kMaxWorkers));
  TRY(in_range("devices", spec.devices, 0, kMaxDevicesPerWorker));
  TRY(in_range("cpu", spec.cpu_milli, 0, 1'000'000'000));
  TRY(in_range("memory", spec.memory.count, 0, int64_t{1} << 50));
  TRY(in_range("device_memory", spec.device_memory.count, 0, int64_t{1} << 50));
  if (spec.restarts != kByKind) TRY(in_range("restarts", spec.restarts, 0, 1'000'000));
  TRY(in_range("infra_restarts", spec.infra_restarts, 0, 1'000'000));
  TRY(in_range("log_limit", spec.log_limit.count, 4096, int64_t{1} << 50));
  if (spec.grace < Duration{} || spec.grace > hours(24)) {
    return bad_field("grace", to_text(spec.grace) + " is out of range; it must be 0s to 24h");
  }
  if (spec.time_limit < Duration{}) return bad_field("time_limit", "is negative");
  if (spec.devices == 0 && (!spec.device_kind.empty() || spec.device_memory.count > 0)) {
    return bad_field("devices", "none asked for, but a device kind or device memory is; "
                                "say how many devices each worker needs");
  }
  if (encode(spec).size() > kMaxSpecBytes) {
    size_t of_command = 0;
    for (const std::string& word : spec.command) of_command += word.size();
    return bad_field(of_command > kMaxSpecBytes / 2 ? "command" : "env",
                     "the whole job is over " + to_text(Bytes{kMaxSpecBytes}) +
                         "; put large values into files");
  }
  return done();
}

Done validate(const NodeSpec& spec) {
  TRY(check_label("name", spec.name));
  if (spec.address.empty()) return bad_field("address", "is empty");
  TRY(in_range("cpu", spec.cpu_milli, 1, 1'000'000'000));
  TRY(in_range("devices", static_cast<int64_t>(spec.devices.size()), 0, 4096));
  std::set<std::string> uuids;
  for (size_t i = 0; i < spec.devices.size(); ++i) {
    const Device& device = spec.devices[i];
    if (device.index != static_cast<int32_t>(i)) {
      return bad_field("devices", "device " + std::to_string(i) + " has index " +
                                      std::to_string(device.index) + "; they must count from 0");
    }
    if (device.uuid.empty() || !uuids.insert(device.uuid).second) {
      return bad_field("devices", "uuid " + quote_text(device.uuid) + " is empty or used twice");
    }
  }
  const int32_t count = static_cast<int32_t>(spec.devices.size());
  for (const Link& link : spec.links) {
    if (link.first < 0 || link.first >= link.second || link.second >= count) {
      return bad_field("links", "a link joins devices " + std::to_string(link.first) + " and " +
                                    std::to_string(link.second) +
                                    ", which is not a pair of this node");
    }
  }
  if (spec.host) TRY(check_host(*spec.host));
  return done();
}

Done validate(const LeaseOptions& o) {
  const bool ordered = Duration{} < o.heartbeat && o.heartbeat < o.slow_after &&
                       o.slow_after <= o.unreachable_after && o.unreachable_after < o.lease &&
                       Duration{} < o.kill_before && o.kill_before < o.stop_before &&
                       o.stop_before < o.lease - o.heartbeat;
  if (ordered) return done();
  return bad_field(
      "lease",
      "the durations must satisfy heartbeat < slow_after <= "
      "unreachable_after < lease and 0 < kill_before < stop_before < lease - heartbeat");
}

}  // namespace keiko
