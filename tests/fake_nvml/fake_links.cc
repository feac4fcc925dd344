// The fake library: PCIe, NVLink and who may talk to whom.
#include <cstdio>
#include <string>
#include <vector>

#include "fake_machine.h"

using namespace keiko;
using namespace keiko::fake_nvml;

namespace {

/// One NVLink of a GPU: "nvlinks" lists groups of equal ones.
struct NvLink {
  std::string to;  ///< a UUID, "switch" or "cpu"
  bool active = true;
};

std::vector<NvLink> links_of(const Json& gpu) {
  std::vector<NvLink> links;
  for (const Json& group : gpu.value("nvlinks", Json::array())) {
    for (int i = group.value("count", 1); i > 0; --i) {
      links.push_back({group.value("to", ""), group.value("active", true)});
    }
  }
  return links;
}

NvmlReturn for_link(const char* function, NvmlDevice device, uint32_t link,
                    const std::function<NvmlReturn(const Json&, const NvLink&)>& body) {
  return answer_for(function, device, [&](const Json& gpu) {
    const std::vector<NvLink> links = links_of(gpu);
    if (links.empty()) return kNvmlNotSupported;
    return link < links.size() ? body(gpu, links[link]) : kNvmlInvalidArgument;
  });
}

std::string address_of(const std::string& uuid) {
  if (uuid == "switch") return machine().value("switch_pci", "0000:c4:00.0");
  if (uuid == "cpu") return "0000:00:00.0";
  for (const Json& gpu : machine()["gpus"]) {
    if (gpu.value("uuid", "") == uuid) return gpu.value("pci", "");
  }
  return {};
}

bool same(const Json& one, const Json& two, const char* key) {
  return one.contains(key) && two.contains(key) && one[key] == two[key];
}

bool linked(const Json& one, const Json& two) {
  bool by_switch[2] = {false, false};
  for (const NvLink& link : links_of(one)) {
    if (link.active && link.to == two.value("uuid", "")) return true;
    by_switch[0] = by_switch[0] || (link.active && link.to == "switch");
  }
  for (const NvLink& link : links_of(two)) {
    by_switch[1] = by_switch[1] || (link.active && link.to == "switch");
  }
  return by_switch[0] && by_switch[1] && machine().value("fabric_up", true);
}

}  // namespace

KEIKO_EXPORT NvmlReturn nvmlDeviceGetMaxPcieLinkGeneration(NvmlDevice device, uint32_t* out) {
  return answer_for("nvmlDeviceGetMaxPcieLinkGeneration", device,
                    [&](const Json& gpu) { return give(gpu, "/pcie/max_generation", out); });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetMaxPcieLinkWidth(NvmlDevice device, uint32_t* out) {
  return answer_for("nvmlDeviceGetMaxPcieLinkWidth", device,
                    [&](const Json& gpu) { return give(gpu, "/pcie/max_lanes", out); });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetCurrPcieLinkGeneration(NvmlDevice device, uint32_t* out) {
  return answer_for("nvmlDeviceGetCurrPcieLinkGeneration", device,
                    [&](const Json& gpu) { return give(gpu, "/pcie/generation", out); });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetCurrPcieLinkWidth(NvmlDevice device, uint32_t* out) {
  return answer_for("nvmlDeviceGetCurrPcieLinkWidth", device,
                    [&](const Json& gpu) { return give(gpu, "/pcie/lanes", out); });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetTopologyCommonAncestor(NvmlDevice one, NvmlDevice two,
                                                            uint32_t* level) {
  return answer_for("nvmlDeviceGetTopologyCommonAncestor", one, [&](const Json& first) {
    const Json* const second = find_gpu(two);
    if (second == nullptr) return kNvmlGpuIsLost;
    *level = 50;
    if (same(first, *second, "numa")) *level = 40;
    if (same(first, *second, "bridge")) *level = 30;
    if (same(first, *second, "switch")) *level = 10;
    if (is_garbage(first)) *level = garbage32();
    return kNvmlSuccess;
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetP2PStatus(NvmlDevice one, NvmlDevice two, uint32_t by,
                                               uint32_t* status) {
  return answer_for("nvmlDeviceGetP2PStatus", one, [&](const Json& first) {
    const Json* const second = find_gpu(two);
    if (second == nullptr) return kNvmlGpuIsLost;
    *status = by == 2 && !linked(first, *second) ? 5 : 0;  // NVML_P2P_STATUS_NOT_SUPPORTED, _OK
    return kNvmlSuccess;
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetNvLinkState(NvmlDevice device, uint32_t link,
                                                 uint32_t* active) {
  return for_link("nvmlDeviceGetNvLinkState", device, link,
                  [&](const Json& gpu, const NvLink& found) {
                    *active = is_garbage(gpu) ? garbage32() : found.active ? 1 : 0;
                    return kNvmlSuccess;
                  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetNvLinkVersion(NvmlDevice device, uint32_t link,
                                                   uint32_t* version) {
  return for_link("nvmlDeviceGetNvLinkVersion", device, link,
                  [&](const Json& gpu, const NvLink&) {
                    return give(gpu, "/nvlink_version", version);
                  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetNvLinkRemotePciInfo_v2(NvmlDevice device, uint32_t link,
                                                            NvmlPci* pci) {
  return for_link("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link,
                  [&](const Json& gpu, const NvLink& found) {
                    *pci = {};
                    const std::string address = address_of(found.to);
                    if (std::sscanf(address.c_str(), "%x:%x:%x", &pci->domain, &pci->bus,
                                    &pci->device) != 3) {
                      return kNvmlNotSupported;
                    }
                    if (is_garbage(gpu)) pci->bus = garbage32();
                    return kNvmlSuccess;
                  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetNvLinkRemoteDeviceType(NvmlDevice device, uint32_t link,
                                                            uint32_t* type) {
  return for_link("nvmlDeviceGetNvLinkRemoteDeviceType", device, link,
                  [&](const Json&, const NvLink& found) {
                    *type = found.to == "switch" ? kRemoteIsSwitch
                            : found.to == "cpu"  ? 1
                                                 : kRemoteIsGpu;
                    return kNvmlSuccess;
                  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetNvLinkErrorCounter(NvmlDevice device, uint32_t link,
                                                        uint32_t counter, uint64_t* count) {
  return for_link("nvmlDeviceGetNvLinkErrorCounter", device, link,
                  [&](const Json& gpu, const NvLink&) {
                    const std::string at = "/nvlink_errors/" + std::to_string(counter);
                    return give(gpu, at.c_str(), count);
                  });
}
