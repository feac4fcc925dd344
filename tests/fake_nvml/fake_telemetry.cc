// The fake library: readings of a GPU and its activity samples.
#include <limits>
#include <memory>
#include <string>

#include "fake_machine.h"

using namespace keiko;
using namespace keiko::fake_nvml;

namespace {

/// What an activity sample remembers; a comparison tells the later one's numbers.
struct Sample {
  Json activity;
  bool garbage = false;
};

NvmlReturn take(const char* function, NvmlDevice device, NvmlGpmSample sample) {
  return answer_for(function, device, [&](const Json& gpu) {
    if (!gpu.contains("activity")) return kNvmlNotSupported;
    *reinterpret_cast<Sample*>(sample) = {gpu["activity"], is_garbage(gpu)};
    return kNvmlSuccess;
  });
}

NvmlReturn give_percents(const Json& gpu, std::pair<const char*, const char*> at,
                         std::pair<uint32_t*, uint32_t*> out) {
  const NvmlReturn first = give(gpu, at.first, out.first);
  return first == kNvmlSuccess ? give(gpu, at.second, out.second) : first;
}

const char* pointer_of_field(uint32_t id) {
  switch (id) {
    case kFieldMemoryTemperature: return "/memory_temperature";
    case kFieldNvlinkSpeedCommon: return "/nvlink_mb_per_s";
    case kFieldNvlinkCount: return "/nvlink_count";
    case kFieldNvlinkSentKib: return "/nvlink_kib/0";
    case kFieldNvlinkReceivedKib: return "/nvlink_kib/1";
    case kFieldRecoveryAction: return "/recovery_action";
    default: return "/nothing";
  }
}

}  // namespace

KEIKO_EXPORT NvmlReturn nvmlDeviceGetUtilizationRates(NvmlDevice device, NvmlUtilization* out) {
  return answer_for("nvmlDeviceGetUtilizationRates", device, [&](const Json& gpu) {
    // As real ones do: nobody tells it while a GPU is split.
    if (gpu.contains("mig") && gpu["mig"].value("enabled", false)) return kNvmlNotSupported;
    return give_percents(gpu, {"/utilisation/gpu", "/utilisation/memory"},
                         {&out->gpu, &out->memory});
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetEncoderUtilization(NvmlDevice device, uint32_t* percent,
                                                        uint32_t* period_us) {
  return answer_for("nvmlDeviceGetEncoderUtilization", device, [&](const Json& gpu) {
    *period_us = 167'000;
    return give(gpu, "/utilisation/encoder", percent);
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetDecoderUtilization(NvmlDevice device, uint32_t* percent,
                                                        uint32_t* period_us) {
  return answer_for("nvmlDeviceGetDecoderUtilization", device, [&](const Json& gpu) {
    *period_us = 167'000;
    return give(gpu, "/utilisation/decoder", percent);
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetTemperature(NvmlDevice device, uint32_t, uint32_t* celsius) {
  return answer_for("nvmlDeviceGetTemperature", device, [&](const Json& gpu) {
    const NvmlReturn told = give(gpu, "/temperature", celsius);
    if (is_garbage(gpu)) *celsius = 4000;  // as broken sensors say
    return told;
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetPowerUsage(NvmlDevice device, uint32_t* milliwatts) {
  return answer_for("nvmlDeviceGetPowerUsage", device,
                    [&](const Json& gpu) { return give(gpu, "/power_mw", milliwatts); });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetEnforcedPowerLimit(NvmlDevice device, uint32_t* milliwatts) {
  return answer_for("nvmlDeviceGetEnforcedPowerLimit", device,
                    [&](const Json& gpu) { return give(gpu, "/power_limit_mw", milliwatts); });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetTotalEnergyConsumption(NvmlDevice device, uint64_t* out) {
  return answer_for("nvmlDeviceGetTotalEnergyConsumption", device,
                    [&](const Json& gpu) { return give(gpu, "/energy_mj", out); });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetClockInfo(NvmlDevice device, uint32_t clock, uint32_t* mhz) {
  return answer_for("nvmlDeviceGetClockInfo", device, [&](const Json& gpu) {
    return give(gpu, clock == 1 ? "/clocks/sm" : clock == 2 ? "/clocks/memory" : "/no", mhz);
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetCurrentClocksEventReasons(NvmlDevice device, uint64_t* bits) {
  return answer_for("nvmlDeviceGetCurrentClocksEventReasons", device,
                    [&](const Json& gpu) { return give(gpu, "/throttle", bits); });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetCurrentClocksThrottleReasons(NvmlDevice device,
                                                                  uint64_t* bits) {
  return answer_for("nvmlDeviceGetCurrentClocksThrottleReasons", device,
                    [&](const Json& gpu) { return give(gpu, "/throttle", bits); });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetTotalEccErrors(NvmlDevice device, uint32_t type,
                                                    uint32_t counter, uint64_t* count) {
  return answer_for("nvmlDeviceGetTotalEccErrors", device, [&](const Json& gpu) {
    const std::string at = std::string("/ecc/") + (type == 0 ? "corrected" : "uncorrected") +
                           (counter == 0 ? "_volatile" : "_aggregate");
    return give(gpu, at.c_str(), count);
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetSramEccErrorStatus(NvmlDevice device, NvmlSramErrors* out) {
  return answer_for("nvmlDeviceGetSramEccErrorStatus", device, [&](const Json& gpu) {
    if (out->version != nvml_version(sizeof *out, 1)) return kNvmlArgumentVersionMismatch;
    if (!gpu.contains("sram")) return kNvmlNotSupported;
    give(gpu, "/sram/parity", &out->aggregate_parity);
    give(gpu, "/sram/secded", &out->aggregate_secded);
    return give(gpu, "/sram/exceeded", &out->threshold_exceeded);
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetRemappedRows(NvmlDevice device, uint32_t* correctable,
                                                  uint32_t* uncorrectable, uint32_t* pending,
                                                  uint32_t* failed) {
  return answer_for("nvmlDeviceGetRemappedRows", device, [&](const Json& gpu) {
    const NvmlReturn errors =
        give_percents(gpu, {"/rows/0", "/rows/1"}, {correctable, uncorrectable});
    if (errors != kNvmlSuccess) return errors;
    return give_percents(gpu, {"/rows/2", "/rows/3"}, {pending, failed});
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetPcieReplayCounter(NvmlDevice device, uint32_t* count) {
  return answer_for("nvmlDeviceGetPcieReplayCounter", device,
                    [&](const Json& gpu) { return give(gpu, "/pcie/replays", count); });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetFieldValues(NvmlDevice device, int count, NvmlField* fields) {
  return answer_for("nvmlDeviceGetFieldValues", device, [&](const Json& gpu) {
    for (NvmlField* field = fields; field < fields + count; ++field) {
      uint64_t value = 0;
      field->status = give(gpu, pointer_of_field(field->id), &value);
      field->type = is_garbage(gpu) ? kNvmlSignedLongLong : kNvmlUnsignedLongLong;
      field->as_unsigned_long = value;
    }
    return kNvmlSuccess;
  });
}

KEIKO_EXPORT NvmlReturn nvmlGpmQueryDeviceSupport(NvmlDevice device, NvmlGpmSupport* support) {
  return answer_for("nvmlGpmQueryDeviceSupport", device, [&](const Json& gpu) {
    support->supported = gpu.contains("activity") ? 1 : 0;
    return kNvmlSuccess;
  });
}

KEIKO_EXPORT NvmlReturn nvmlGpmSampleAlloc(NvmlGpmSample* sample) {
  return answer("nvmlGpmSampleAlloc", [&] {
    *sample = reinterpret_cast<NvmlGpmSample>(new Sample);
    return kNvmlSuccess;
  });
}

KEIKO_EXPORT NvmlReturn nvmlGpmSampleFree(NvmlGpmSample sample) {
  delete reinterpret_cast<Sample*>(sample);
  return kNvmlSuccess;
}

KEIKO_EXPORT NvmlReturn nvmlGpmSampleGet(NvmlDevice device, NvmlGpmSample sample) {
  return take("nvmlGpmSampleGet", device, sample);
}

KEIKO_EXPORT NvmlReturn nvmlGpmMigSampleGet(NvmlDevice device, uint32_t, NvmlGpmSample sample) {
  return take("nvmlGpmMigSampleGet", device, sample);
}

KEIKO_EXPORT NvmlReturn nvmlGpmMetricsGet(NvmlGpmRequest* request) {
  return answer("nvmlGpmMetricsGet", [&] {
    if (request->version != 1) return kNvmlArgumentVersionMismatch;
    const Sample& sample = *reinterpret_cast<const Sample*>(request->after);
    for (uint32_t i = 0; i < request->count; ++i) {
      NvmlGpmMetric& metric = request->metrics[i];
      const auto value = real_at(sample.activity, ("/" + std::to_string(metric.id)).c_str());
      metric.status = value ? kNvmlSuccess : kNvmlNotSupported;
      metric.value = sample.garbage ? std::numeric_limits<double>::quiet_NaN() : value.value_or(0);
    }
    return kNvmlSuccess;
  });
}
