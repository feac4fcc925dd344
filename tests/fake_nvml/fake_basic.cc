// The fake library: start, count, identity and memory, which even an old driver tells.
#include <cstdio>
#include <string>

#include "fake_machine.h"

using namespace keiko;
using namespace keiko::fake_nvml;

namespace {

constexpr uint64_t kMebibyte = 1 << 20;

NvmlReturn give_pci(const std::string& address, NvmlPci* out) {
  *out = {};
  if (std::sscanf(address.c_str(), "%x:%x:%x", &out->domain, &out->bus, &out->device) != 3) {
    return kNvmlNotSupported;
  }
  std::snprintf(out->bus_id, sizeof out->bus_id, "%08X:%02X:%02X.0", out->domain, out->bus,
                out->device);
  std::snprintf(out->bus_id_legacy, sizeof out->bus_id_legacy, "%04X:%02X:%02X.0",
                out->domain & 0xffff, out->bus & 0xff, out->device & 0xff);
  return kNvmlSuccess;
}

}  // namespace

KEIKO_EXPORT NvmlReturn nvmlInit_v2() {
  return answer("nvmlInit_v2", [] {
    count_start(1);
    return kNvmlSuccess;
  });
}

KEIKO_EXPORT NvmlReturn nvmlShutdown() {
  return answer("nvmlShutdown", [] {
    count_start(-1);
    return kNvmlSuccess;
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetCount_v2(uint32_t* count) {
  return answer("nvmlDeviceGetCount_v2", [&] {
    *count = static_cast<uint32_t>(machine()["gpus"].size());
    return kNvmlSuccess;
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetHandleByIndex_v2(uint32_t index, NvmlDevice* device) {
  return answer("nvmlDeviceGetHandleByIndex_v2", [&] {
    const Json& gpus = machine()["gpus"];
    if (index >= gpus.size()) return kNvmlInvalidArgument;
    if (gpus[index].value("lost", false)) return kNvmlGpuIsLost;
    *device = handle_of(gpus[index]["uuid"].get<std::string>());
    return kNvmlSuccess;
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetName(NvmlDevice device, char* text, uint32_t size) {
  return answer_for("nvmlDeviceGetName", device, [&](const Json& gpu) {
    std::string name = gpu.value("name", "");
    const Json* const unit = find(device);
    if (unit != &gpu && unit != nullptr && unit->contains("profile")) {
      name += " MIG " + (*unit)["profile"].get<std::string>();
    }
    return give_text(name, text, size);
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetUUID(NvmlDevice device, char* text, uint32_t size) {
  return answer_for("nvmlDeviceGetUUID", device, [&](const Json&) {
    return give_text(behind(device).uuid, text, size);
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetPciInfo_v3(NvmlDevice device, NvmlPci* pci) {
  return answer_for("nvmlDeviceGetPciInfo_v3", device, [&](const Json& gpu) {
    return give_pci(gpu.value("pci", ""), pci);
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetMemoryInfo(NvmlDevice device, NvmlMemory* memory) {
  const auto body = [&](const Json& unit) {
    const auto total = number_at(unit, "/memory/total_mib");
    if (!total) return kNvmlNotSupported;
    memory->total = *total * kMebibyte;
    memory->used = (number_at(unit, "/memory/used_mib").value_or(0) +
                    number_at(unit, "/memory/reserved_mib").value_or(0)) * kMebibyte;
    memory->free = memory->total - memory->used;
    if (is_garbage(unit)) *memory = {garbage64(), garbage64(), garbage64()};
    return kNvmlSuccess;
  };
  return answer_for("nvmlDeviceGetMemoryInfo", device, body, true);
}
