#include "drivers/devices/nvml/nvml_stats.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

namespace keiko {
namespace {

/// The least and the most that a value can be: wide enough for hardware to come, far below any
/// sentinel (all ones, INT64_MAX - 13, 4,000 C ...).
struct Range {
  double least = 0;
  double most = 0;
};
constexpr double kRounding = 1.005;  // a measured share may come out above the whole
constexpr Range kPercent{0, 100};
constexpr Range kCelsius{1, 200};
constexpr Range kMilliwatts{1, 20e6};
constexpr Range kMegahertz{0, 20'000};
constexpr Range kSize{0, 7e13};
constexpr Range kCount{0, 9e15};        // what a double holds exactly
constexpr Range kShortCount{0, 2.1e9};  // of a 32-bit counter
constexpr Range kBits{0, 2.1e9};
constexpr Range kMebibytesPerS{0, 1e8};

/// Reads through one library into one DeviceStats.
class Reader {
 public:
  Reader(const NvmlLibrary& library, DeviceStats& stats) : library_(library), stats_(stats) {}

  /// Puts value * unit under `name` if the value can be true.
  void put(const char* name, double value, Range range, double unit = 1) {
    if (!std::isfinite(value) || value < range.least || value > range.most * kRounding) return;
    stats_.values[name] = std::min(value, range.most) * unit;
  }

  /// Calls a function whose last parameter is the value.
  template <class T, class... P, class... A>
  std::optional<double> ask(NvmlReturn (*NvmlSymbols::*function)(P...), T value, A... arguments) {
    const NvmlReturn answer = library_.call(function, arguments..., &value);
    if (answer == kNvmlGpuIsLost) lost_ = true;
    return answer == kNvmlSuccess ? std::optional(static_cast<double>(value)) : std::nullopt;
  }

  /// Puts what a function answers, if it does.
  void put(const char* name, std::optional<double> value, Range range, double unit = 1) {
    if (value.has_value()) put(name, *value, range, unit);
  }

  /// Puts a field of nvmlDeviceGetFieldValues.
  void put_field(const char* name, NvmlDevice handle, NvmlField field,
                 std::pair<Range, double> range_and_unit);

  bool lost() const { return lost_; }
  void saw(NvmlReturn answer) { lost_ = lost_ || answer == kNvmlGpuIsLost; }
  const NvmlLibrary& library() const { return library_; }

 private:
  const NvmlLibrary& library_;
  DeviceStats& stats_;
  bool lost_ = false;
};

void Reader::put_field(const char* name, NvmlDevice handle, NvmlField field,
                       std::pair<Range, double> range_and_unit) {
  if (library_.call(&NvmlSymbols::nvmlDeviceGetFieldValues, handle, 1, &field) != kNvmlSuccess ||
      field.status != kNvmlSuccess) {
    return;
  }
  double value = 0;
  switch (field.type) {
    case kNvmlDouble: value = field.as_double; break;
    case kNvmlUnsignedInt: value = field.as_unsigned; break;
    case kNvmlUnsignedLong:
    case kNvmlUnsignedLongLong: value = static_cast<double>(field.as_unsigned_long); break;
    case kNvmlSignedLongLong: value = static_cast<double>(field.as_long); break;
    case kNvmlSignedInt: value = field.as_int; break;
    default: return;
  }
  put(name, value, range_and_unit.first, range_and_unit.second);
}

void read_memory(Reader& reader, NvmlDevice handle) {
  NvmlMemory2 memory{};
  memory.version = nvml_version(sizeof memory, 2);
  NvmlReturn answer =
      reader.library().call(&NvmlSymbols::nvmlDeviceGetMemoryInfo_v2, handle, &memory);
  if (answer != kNvmlSuccess && answer != kNvmlGpuIsLost) {
    NvmlMemory older{};
    answer = reader.library().call(&NvmlSymbols::nvmlDeviceGetMemoryInfo, handle, &older);
    memory.total = older.total;
    memory.free = older.free;
    memory.reserved = 0;
  }
  reader.saw(answer);
  if (answer != kNvmlSuccess || static_cast<double>(memory.total) > kSize.most ||
      memory.reserved > memory.total ||
      memory.free > memory.total - memory.reserved) {
    return;
  }
  // Versions differ in whether `used` includes the reserve; the rest of the sum does not lie.
  const uint64_t usable = memory.total - memory.reserved;
  reader.put("memory_total_bytes", static_cast<double>(usable), kSize);
  reader.put("memory_used_bytes", static_cast<double>(usable - memory.free), kSize);
  reader.put("memory_free_bytes", static_cast<double>(memory.free), kSize);
  reader.put("memory_reserved_bytes", static_cast<double>(memory.reserved), kSize);
}

/// What only a whole GPU tells: a slice's share of it is not known.
void read_engines(Reader& reader, NvmlDevice gpu) {
  using S = NvmlSymbols;
  NvmlUtilization percent{};
  if (reader.library().call(&S::nvmlDeviceGetUtilizationRates, gpu, &percent) == kNvmlSuccess) {
    reader.put("utilisation_ratio", percent.gpu, kPercent, 0.01);
    reader.put("memory_utilisation_ratio", percent.memory, kPercent, 0.01);
  }
  uint32_t busy = 0;
  uint32_t period = 0;
  if (reader.library().call(&S::nvmlDeviceGetEncoderUtilization, gpu, &busy, &period) ==
      kNvmlSuccess) {
    reader.put("encoder_ratio", busy, kPercent, 0.01);
  }
  if (reader.library().call(&S::nvmlDeviceGetDecoderUtilization, gpu, &busy, &period) ==
      kNvmlSuccess) {
    reader.put("decoder_ratio", busy, kPercent, 0.01);
  }
  const uint32_t none = 0;
  reader.put("power_watts", reader.ask(&S::nvmlDeviceGetPowerUsage, none, gpu), kMilliwatts, 1e-3);
  reader.put("power_limit_watts", reader.ask(&S::nvmlDeviceGetEnforcedPowerLimit, none, gpu),
             kMilliwatts, 1e-3);
  reader.put("energy_joules",
             reader.ask(&S::nvmlDeviceGetTotalEnergyConsumption, uint64_t{0}, gpu), kCount, 1e-3);
}

/// What a slice shares with its GPU and suffers from like a whole one.
void read_condition(Reader& reader, NvmlDevice gpu) {
  using S = NvmlSymbols;
  const uint32_t none = 0;
  reader.put("temperature_celsius",
             reader.ask(&S::nvmlDeviceGetTemperature, none, gpu, uint32_t{0}), kCelsius);
  NvmlField field{};
  field.id = kFieldMemoryTemperature;
  reader.put_field("memory_temperature_celsius", gpu, field, {kCelsius, 1});
  field = {};
  field.id = kFieldRecoveryAction;
  reader.put_field("recovery_action", gpu, field, {Range{0, 15}, 1});
  reader.put("sm_clock_mhz", reader.ask(&S::nvmlDeviceGetClockInfo, none, gpu, uint32_t{1}),
             kMegahertz);
  reader.put("memory_clock_mhz", reader.ask(&S::nvmlDeviceGetClockInfo, none, gpu, uint32_t{2}),
             kMegahertz);
  auto reasons = reader.ask(&S::nvmlDeviceGetCurrentClocksEventReasons, uint64_t{0}, gpu);
  if (!reasons) {
    reasons = reader.ask(&S::nvmlDeviceGetCurrentClocksThrottleReasons, uint64_t{0}, gpu);
  }
  reader.put("throttle_reasons", reasons, kBits);
}

void read_memory_errors(Reader& reader, NvmlDevice gpu) {
  using S = NvmlSymbols;
  static constexpr const char* kNames[2][2] = {
      {"ecc_corrected_volatile", "ecc_corrected_aggregate"},
      {"ecc_uncorrected_volatile", "ecc_uncorrected_aggregate"}};
  for (uint32_t type = 0; type < 2; ++type) {
    for (uint32_t counter = 0; counter < 2; ++counter) {
      reader.put(kNames[type][counter],
                 reader.ask(&S::nvmlDeviceGetTotalEccErrors, uint64_t{0}, gpu, type, counter),
                 kCount);
    }
  }
  NvmlSramErrors sram{};
  sram.version = nvml_version(sizeof sram, 1);
  if (reader.library().call(&S::nvmlDeviceGetSramEccErrorStatus, gpu, &sram) == kNvmlSuccess) {
    reader.put("sram_uncorrected_aggregate",
               static_cast<double>(sram.aggregate_parity) +
                   static_cast<double>(sram.aggregate_secded),
               kCount);
    reader.put("sram_threshold_exceeded", sram.threshold_exceeded, Range{0, 1});
  }
  uint32_t rows[4] = {};
  if (reader.library().call(&S::nvmlDeviceGetRemappedRows, gpu, &rows[0], &rows[1], &rows[2],
                            &rows[3]) == kNvmlSuccess) {
    reader.put("rows_remapped_correctable", rows[0], kShortCount);
    reader.put("rows_remapped_uncorrectable", rows[1], kShortCount);
    reader.put("row_remap_pending", rows[2], Range{0, 1});
    reader.put("row_remap_failed", rows[3], Range{0, 1});
  }
}

void read_nvlinks(Reader& reader, NvmlDevice gpu) {
  using S = NvmlSymbols;
  static constexpr const char* kNames[] = {"nvlink_replays", "nvlink_recoveries",
                                           "nvlink_crc_flit_errors", "nvlink_crc_data_errors"};
  uint32_t present = 0;
  uint32_t working = 0;
  std::optional<double> errors[4];
  for (uint32_t link = 0; link < kMostNvlinks; ++link) {
    uint32_t active = 0;
    if (reader.library().call(&S::nvmlDeviceGetNvLinkState, gpu, link, &active) != kNvmlSuccess ||
        active > 1) {
      continue;
    }
    present += 1;
    working += active;
    for (uint32_t counter = 0; counter < 4; ++counter) {
      const auto count =
          reader.ask(&S::nvmlDeviceGetNvLinkErrorCounter, uint64_t{0}, gpu, link, counter);
      if (count && *count <= kCount.most) errors[counter] = errors[counter].value_or(0) + *count;
    }
  }
  if (present == 0) return;
  reader.put("nvlinks_present", present, kShortCount);
  reader.put("nvlinks_active", working, kShortCount);
  for (size_t i = 0; i < std::size(kNames); ++i) reader.put(kNames[i], errors[i], kCount);
  NvmlField field{};
  field.scope = kNoInstance;  // all links
  field.id = kFieldNvlinkSentKib;
  reader.put_field("nvlink_sent_bytes", gpu, field, {kCount, 1024});
  field.id = kFieldNvlinkReceivedKib;
  reader.put_field("nvlink_received_bytes", gpu, field, {kCount, 1024});
}

void read_pcie(Reader& reader, NvmlDevice gpu) {
  using S = NvmlSymbols;
  const uint32_t none = 0;
  reader.put("pcie_replays", reader.ask(&S::nvmlDeviceGetPcieReplayCounter, none, gpu),
             kShortCount);
  reader.put("pcie_generation", reader.ask(&S::nvmlDeviceGetCurrPcieLinkGeneration, none, gpu),
             Range{1, 15});
  reader.put("pcie_lanes", reader.ask(&S::nvmlDeviceGetCurrPcieLinkWidth, none, gpu),
             Range{1, 32});
}

/// nvmlGpmMetricId_t and what we call it.
struct ActivityMetric {
  uint32_t id;
  const char* name;
  Range range;
  double unit;
};
constexpr ActivityMetric kActivity[] = {
    {1, "graphics_active_ratio", kPercent, 0.01},
    {2, "sm_active_ratio", kPercent, 0.01},
    {3, "sm_occupancy_ratio", kPercent, 0.01},
    {5, "tensor_active_ratio", kPercent, 0.01},
    {10, "dram_active_ratio", kPercent, 0.01},
    {20, "pcie_sent_bytes_per_s", kMebibytesPerS, 1048576},
    {21, "pcie_received_bytes_per_s", kMebibytesPerS, 1048576},
    {60, "nvlink_received_bytes_per_s", kMebibytesPerS, 1048576},
    {61, "nvlink_sent_bytes_per_s", kMebibytesPerS, 1048576},
};

}  // namespace

NvmlStats::~NvmlStats() {
  for (const auto& [uuid, activity] : activities_) {
    if (activity.last != nullptr) library_.call(&NvmlSymbols::nvmlGpmSampleFree, activity.last);
  }
}

NvmlReturn NvmlStats::read(const NvmlMachine& machine, const NvmlUnit& unit, DeviceStats& stats) {
  Reader reader(library_, stats);
  const NvmlDevice gpu = machine.gpus[unit.gpu].handle;
  read_memory(reader, unit.handle);
  read_condition(reader, gpu);
  if (reader.lost()) {
    stats.values.clear();
    return kNvmlGpuIsLost;
  }
  read_memory_errors(reader, gpu);
  if (unit.is_slice()) {
    reader.put("gpu_instance", unit.gpu_instance, Range{0, 64});
  } else {
    read_engines(reader, gpu);
    read_nvlinks(reader, gpu);
    read_pcie(reader, gpu);
  }
  read_activity(machine, unit, stats);
  return kNvmlSuccess;
}

NvmlStats::Activity& NvmlStats::activity_of(const NvmlGpu& gpu, const std::string& uuid) {
  const auto [found, fresh] = activities_.try_emplace(uuid);
  if (fresh) {
    NvmlGpmSupport support{};
    support.version = 1;
    found->second.supported =
        library_.has(&NvmlSymbols::nvmlGpmMetricsGet) &&
        library_.has(&NvmlSymbols::nvmlGpmSampleFree) &&
        library_.call(&NvmlSymbols::nvmlGpmQueryDeviceSupport, gpu.handle, &support) ==
            kNvmlSuccess && support.supported == 1;
  }
  return found->second;
}

NvmlGpmSample NvmlStats::take_sample(const NvmlGpu& gpu, const NvmlUnit& unit) {
  NvmlGpmSample sample = nullptr;
  if (library_.call(&NvmlSymbols::nvmlGpmSampleAlloc, &sample) != kNvmlSuccess) return nullptr;
  const NvmlReturn answer =
      unit.is_slice()
          ? library_.call(&NvmlSymbols::nvmlGpmMigSampleGet, gpu.handle, unit.gpu_instance, sample)
          : library_.call(&NvmlSymbols::nvmlGpmSampleGet, gpu.handle, sample);
  if (answer == kNvmlSuccess) return sample;
  library_.call(&NvmlSymbols::nvmlGpmSampleFree, sample);
  return nullptr;
}

void NvmlStats::read_activity(const NvmlMachine& machine, const NvmlUnit& unit,
                              DeviceStats& stats) {
  const NvmlGpu& gpu = machine.gpus[unit.gpu];
  Activity& activity = activity_of(gpu, unit.device.uuid);
  if (!activity.supported) return;
  const SteadyTime now = std::chrono::steady_clock::now();
  const bool due = activity.last == nullptr ||
                   now - activity.taken >= std::chrono::nanoseconds(interval_.ns);
  if (due) {
    const NvmlGpmSample sample = take_sample(gpu, unit);
    activity.values.clear();
    if (activity.last != nullptr && sample != nullptr) {
      activity.values = compare(activity.last, sample);
    }
    if (activity.last != nullptr) library_.call(&NvmlSymbols::nvmlGpmSampleFree, activity.last);
    activity.last = sample;
    activity.taken = now;
  }
  stats.values.insert(activity.values.begin(), activity.values.end());
}

std::map<std::string, double> NvmlStats::compare(NvmlGpmSample before, NvmlGpmSample after) {
  const auto request = std::make_unique<NvmlGpmRequest>();  // 13 kB: not for the stack
  request->count = std::size(kActivity);
  request->before = before;
  request->after = after;
  for (size_t i = 0; i < std::size(kActivity); ++i) request->metrics[i].id = kActivity[i].id;
  if (library_.call(&NvmlSymbols::nvmlGpmMetricsGet, request.get()) != kNvmlSuccess) return {};
  DeviceStats stats;
  Reader reader(library_, stats);
  for (size_t i = 0; i < std::size(kActivity); ++i) {
    const NvmlGpmMetric& metric = request->metrics[i];
    if (metric.status != kNvmlSuccess) continue;
    reader.put(kActivity[i].name, metric.value, kActivity[i].range, kActivity[i].unit);
  }
  return stats.values;
}

}  // namespace keiko
