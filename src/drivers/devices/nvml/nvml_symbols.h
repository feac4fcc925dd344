// Every function of the management library that we call, in one list: the table of pointers, the
// loading and the tests follow from it.
#pragma once

#include "drivers/devices/nvml/nvml_abi.h"

namespace keiko {

// X(function, parameters)
#define KEIKO_NVML_FUNCTIONS(X)                                                                   \
  X(nvmlInit_v2, ())                                                                              \
  X(nvmlShutdown, ())                                                                             \
  X(nvmlSystemGetDriverVersion, (char* text, uint32_t size))                                      \
  X(nvmlDeviceGetCount_v2, (uint32_t * count))                                                    \
  X(nvmlDeviceGetHandleByIndex_v2, (uint32_t index, NvmlDevice * device))                         \
  X(nvmlDeviceGetName, (NvmlDevice device, char* text, uint32_t size))                            \
  X(nvmlDeviceGetUUID, (NvmlDevice device, char* text, uint32_t size))                            \
  X(nvmlDeviceGetMinorNumber, (NvmlDevice device, uint32_t * minor))                              \
  X(nvmlDeviceGetArchitecture, (NvmlDevice device, uint32_t * architecture))                      \
  X(nvmlDeviceGetPciInfo_v3, (NvmlDevice device, NvmlPci * pci))                                  \
  X(nvmlDeviceGetMemoryInfo, (NvmlDevice device, NvmlMemory * memory))                            \
  X(nvmlDeviceGetMemoryInfo_v2, (NvmlDevice device, NvmlMemory2 * memory))                        \
  X(nvmlDeviceGetMaxPcieLinkGeneration, (NvmlDevice device, uint32_t * generation))               \
  X(nvmlDeviceGetMaxPcieLinkWidth, (NvmlDevice device, uint32_t * lanes))                         \
  X(nvmlDeviceGetCurrPcieLinkGeneration, (NvmlDevice device, uint32_t * generation))              \
  X(nvmlDeviceGetCurrPcieLinkWidth, (NvmlDevice device, uint32_t * lanes))                        \
  X(nvmlDeviceGetTopologyCommonAncestor, (NvmlDevice one, NvmlDevice two, uint32_t * level))      \
  X(nvmlDeviceGetP2PStatus, (NvmlDevice one, NvmlDevice two, uint32_t by, uint32_t * status))     \
  X(nvmlDeviceGetNvLinkState, (NvmlDevice device, uint32_t link, uint32_t * active))              \
  X(nvmlDeviceGetNvLinkVersion, (NvmlDevice device, uint32_t link, uint32_t * version))           \
  X(nvmlDeviceGetNvLinkRemotePciInfo_v2, (NvmlDevice device, uint32_t link, NvmlPci * pci))       \
  X(nvmlDeviceGetNvLinkRemoteDeviceType, (NvmlDevice device, uint32_t link, uint32_t * type))     \
  X(nvmlDeviceGetNvLinkErrorCounter,                                                              \
    (NvmlDevice device, uint32_t link, uint32_t counter, uint64_t * count))                       \
  X(nvmlDeviceGetMigMode, (NvmlDevice device, uint32_t * current, uint32_t * pending))            \
  X(nvmlDeviceGetMaxMigDeviceCount, (NvmlDevice device, uint32_t * count))                        \
  X(nvmlDeviceGetMigDeviceHandleByIndex,                                                          \
    (NvmlDevice device, uint32_t index, NvmlDevice * slice))                                      \
  X(nvmlDeviceGetGpuInstanceId, (NvmlDevice slice, uint32_t * id))                                \
  X(nvmlDeviceGetComputeInstanceId, (NvmlDevice slice, uint32_t * id))                            \
  X(nvmlDeviceGetAttributes_v2, (NvmlDevice slice, NvmlAttributes * attributes))                  \
  X(nvmlDeviceGetUtilizationRates, (NvmlDevice device, NvmlUtilization * percent))                \
  X(nvmlDeviceGetEncoderUtilization,                                                              \
    (NvmlDevice device, uint32_t * percent, uint32_t * period_us))                                \
  X(nvmlDeviceGetDecoderUtilization,                                                              \
    (NvmlDevice device, uint32_t * percent, uint32_t * period_us))                                \
  X(nvmlDeviceGetTemperature, (NvmlDevice device, uint32_t sensor, uint32_t * celsius))           \
  X(nvmlDeviceGetPowerUsage, (NvmlDevice device, uint32_t * milliwatts))                          \
  X(nvmlDeviceGetEnforcedPowerLimit, (NvmlDevice device, uint32_t * milliwatts))                  \
  X(nvmlDeviceGetTotalEnergyConsumption, (NvmlDevice device, uint64_t * millijoules))             \
  X(nvmlDeviceGetClockInfo, (NvmlDevice device, uint32_t clock, uint32_t * mhz))                  \
  X(nvmlDeviceGetCurrentClocksEventReasons, (NvmlDevice device, uint64_t * bits))                 \
  X(nvmlDeviceGetCurrentClocksThrottleReasons, (NvmlDevice device, uint64_t * bits))              \
  X(nvmlDeviceGetTotalEccErrors,                                                                  \
    (NvmlDevice device, uint32_t type, uint32_t counter, uint64_t * count))                       \
  X(nvmlDeviceGetSramEccErrorStatus, (NvmlDevice device, NvmlSramErrors * errors))                \
  X(nvmlDeviceGetRemappedRows, (NvmlDevice device, uint32_t * correctable,                        \
                                uint32_t * uncorrectable, uint32_t * pending, uint32_t * failed)) \
  X(nvmlDeviceGetPcieReplayCounter, (NvmlDevice device, uint32_t * count))                        \
  X(nvmlDeviceGetFieldValues, (NvmlDevice device, int count, NvmlField* fields))                  \
  X(nvmlDeviceGetComputeRunningProcesses_v3,                                                      \
    (NvmlDevice device, uint32_t * count, NvmlProcess * processes))                               \
  X(nvmlDeviceGetComputeRunningProcesses_v2,                                                      \
    (NvmlDevice device, uint32_t * count, NvmlProcess * processes))                               \
  X(nvmlDeviceGetGraphicsRunningProcesses_v3,                                                     \
    (NvmlDevice device, uint32_t * count, NvmlProcess * processes))                               \
  X(nvmlDeviceGetMPSComputeRunningProcesses_v3,                                                   \
    (NvmlDevice device, uint32_t * count, NvmlProcess * processes))                               \
  X(nvmlDeviceGetProcessUtilization,                                                              \
    (NvmlDevice device, NvmlProcessUse * uses, uint32_t * count, uint64_t since_us))              \
  X(nvmlEventSetCreate, (NvmlEventSet * set))                                                     \
  X(nvmlEventSetFree, (NvmlEventSet set))                                                         \
  X(nvmlEventSetWait_v2, (NvmlEventSet set, NvmlEvent * event, uint32_t timeout_ms))              \
  X(nvmlDeviceGetSupportedEventTypes, (NvmlDevice device, uint64_t * types))                      \
  X(nvmlDeviceRegisterEvents, (NvmlDevice device, uint64_t types, NvmlEventSet set))              \
  X(nvmlGpmQueryDeviceSupport, (NvmlDevice device, NvmlGpmSupport * support))                     \
  X(nvmlGpmSampleAlloc, (NvmlGpmSample * sample))                                                 \
  X(nvmlGpmSampleFree, (NvmlGpmSample sample))                                                    \
  X(nvmlGpmSampleGet, (NvmlDevice device, NvmlGpmSample sample))                                  \
  X(nvmlGpmMigSampleGet, (NvmlDevice device, uint32_t gpu_instance, NvmlGpmSample sample))        \
  X(nvmlGpmMetricsGet, (NvmlGpmRequest * request))

/// The functions that this library has; the others are null.
struct NvmlSymbols {
#define KEIKO_NVML_MEMBER(name, parameters) NvmlReturn(*name) parameters = nullptr;
  KEIKO_NVML_FUNCTIONS(KEIKO_NVML_MEMBER)
#undef KEIKO_NVML_MEMBER
};

}  // namespace keiko
