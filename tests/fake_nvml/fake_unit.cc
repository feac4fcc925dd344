// The fake library: what newer drivers tell of a GPU or a slice: reserve, MIG, processes, places.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "fake_machine.h"

using namespace keiko;
using namespace keiko::fake_nvml;

namespace {

constexpr uint64_t kMebibyte = 1 << 20;

NvmlReturn give_processes(const char* function, NvmlDevice device, const std::string& kind,
                          std::pair<uint32_t*, NvmlProcess*> out) {
  const auto body = [&](const Json& unit) {
    std::vector<NvmlProcess> found;
    for (const Json& process : unit.value("processes", Json::array())) {
      if (process.value("kind", "compute") != kind) continue;
      NvmlProcess entry{};
      entry.pid = process.value("pid", 0U);
      const auto memory = number_at(process, "/memory_mib");
      entry.used_memory = memory && !is_garbage(unit) ? *memory * kMebibyte : UINT64_MAX;
      entry.gpu_instance = process.value("gi", unit.value("gi", kNoInstance));
      entry.compute_instance = process.value("ci", unit.value("ci", kNoInstance));
      found.push_back(entry);
    }
    const uint32_t room = *out.first;
    *out.first = static_cast<uint32_t>(found.size());
    if (found.size() > room) return kNvmlInsufficientSize;
    std::copy(found.begin(), found.end(), out.second);
    return kNvmlSuccess;
  };
  return answer_for(function, device, body, true);
}

}  // namespace

KEIKO_EXPORT NvmlReturn nvmlSystemGetDriverVersion(char* text, uint32_t size) {
  return answer("nvmlSystemGetDriverVersion",
                [&] { return give_text(machine().value("driver", ""), text, size); });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetMinorNumber(NvmlDevice device, uint32_t* minor) {
  return answer_for("nvmlDeviceGetMinorNumber", device,
                    [&](const Json& gpu) { return give(gpu, "/minor", minor); });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetArchitecture(NvmlDevice device, uint32_t* architecture) {
  return answer_for("nvmlDeviceGetArchitecture", device,
                    [&](const Json& gpu) { return give(gpu, "/architecture", architecture); });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetMemoryInfo_v2(NvmlDevice device, NvmlMemory2* memory) {
  const auto body = [&](const Json& unit) {
    if (memory->version != nvml_version(sizeof *memory, 2)) return kNvmlArgumentVersionMismatch;
    const auto total = number_at(unit, "/memory/total_mib");
    if (!total) return kNvmlNotSupported;
    memory->total = *total * kMebibyte;
    memory->reserved = number_at(unit, "/memory/reserved_mib").value_or(0) * kMebibyte;
    memory->used = number_at(unit, "/memory/used_mib").value_or(0) * kMebibyte;
    memory->free = memory->total - memory->reserved - memory->used;
    if (is_garbage(unit)) {
      memory->total = garbage64();
      memory->reserved = garbage64();
      memory->free = garbage64();
    }
    return kNvmlSuccess;
  };
  return answer_for("nvmlDeviceGetMemoryInfo_v2", device, body, true);
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetMigMode(NvmlDevice device, uint32_t* current,
                                             uint32_t* pending) {
  return answer_for("nvmlDeviceGetMigMode", device, [&](const Json& gpu) {
    if (!gpu.contains("mig")) return kNvmlNotSupported;
    *current = *pending = gpu["mig"].value("enabled", false) ? 1 : 0;
    return kNvmlSuccess;
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetMaxMigDeviceCount(NvmlDevice device, uint32_t* count) {
  return answer_for("nvmlDeviceGetMaxMigDeviceCount", device, [&](const Json& gpu) {
    *count = gpu.contains("mig") ? 7 : 0;
    return kNvmlSuccess;
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetMigDeviceHandleByIndex(NvmlDevice device, uint32_t index,
                                                            NvmlDevice* slice) {
  return answer_for("nvmlDeviceGetMigDeviceHandleByIndex", device, [&](const Json& gpu) {
    const Json slices = gpu.contains("mig") ? gpu["mig"].value("slices", Json::array()) : Json();
    if (index >= slices.size()) return kNvmlNotFound;
    *slice = handle_of(slices[index]["uuid"].get<std::string>(), behind(device).uuid);
    return kNvmlSuccess;
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetGpuInstanceId(NvmlDevice device, uint32_t* id) {
  return answer_for("nvmlDeviceGetGpuInstanceId", device,
                    [&](const Json& slice) { return give(slice, "/gi", id); }, true);
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetComputeInstanceId(NvmlDevice device, uint32_t* id) {
  return answer_for("nvmlDeviceGetComputeInstanceId", device,
                    [&](const Json& slice) { return give(slice, "/ci", id); }, true);
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetAttributes_v2(NvmlDevice device, NvmlAttributes* out) {
  const auto body = [&](const Json& slice) {
    const auto memory = number_at(slice, "/memory/total_mib");
    const auto slices = number_at(slice, "/slices");
    if (!memory || !slices) return kNvmlNotSupported;
    *out = {};
    out->gpu_slices = static_cast<uint32_t>(*slices);
    out->compute_slices =
        static_cast<uint32_t>(number_at(slice, "/compute_slices").value_or(*slices));
    out->memory_mib = is_garbage(slice) ? garbage64() : *memory;
    return kNvmlSuccess;
  };
  return answer_for("nvmlDeviceGetAttributes_v2", device, body, true);
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetComputeRunningProcesses_v3(NvmlDevice device,
                                                                uint32_t* count,
                                                                NvmlProcess* processes) {
  return give_processes("nvmlDeviceGetComputeRunningProcesses_v3", device, "compute",
                        {count, processes});
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetComputeRunningProcesses_v2(NvmlDevice device,
                                                                uint32_t* count,
                                                                NvmlProcess* processes) {
  return give_processes("nvmlDeviceGetComputeRunningProcesses_v2", device, "compute",
                        {count, processes});
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetGraphicsRunningProcesses_v3(NvmlDevice device,
                                                                 uint32_t* count,
                                                                 NvmlProcess* processes) {
  return give_processes("nvmlDeviceGetGraphicsRunningProcesses_v3", device, "graphics",
                        {count, processes});
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetProcessUtilization(NvmlDevice device, NvmlProcessUse* uses,
                                                        uint32_t* count, uint64_t since_us) {
  const auto body = [&](const Json& gpu) {
    if (gpu.contains("mig") && gpu["mig"].value("enabled", false)) return kNvmlNotSupported;
    const uint64_t now_us = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(
            std::chrono::steady_clock::now().time_since_epoch()).count());
    std::vector<NvmlProcessUse> found;
    for (const Json& process : gpu.value("processes", Json::array())) {
      const auto percent = number_at(process, "/sm");
      if (!percent || *percent == 0 || since_us >= now_us) continue;
      const uint32_t told = is_garbage(gpu) ? garbage32() : static_cast<uint32_t>(*percent);
      found.push_back({process.value("pid", 0U), now_us, told, 0, 0, 0});
    }
    if (found.empty()) return kNvmlNotFound;
    const uint32_t room = uses == nullptr ? 0 : *count;
    *count = static_cast<uint32_t>(found.size());
    if (found.size() > room) return kNvmlInsufficientSize;
    std::copy(found.begin(), found.end(), uses);
    return kNvmlSuccess;
  };
  return answer_for("nvmlDeviceGetProcessUtilization", device, body);
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetMPSComputeRunningProcesses_v3(NvmlDevice device,
                                                                   uint32_t* count,
                                                                   NvmlProcess* processes) {
  return give_processes("nvmlDeviceGetMPSComputeRunningProcesses_v3", device, "mps",
                        {count, processes});
}
