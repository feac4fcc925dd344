// The binary interface of NVIDIA's management library, as far as we call it: structs, enumerations
// and numbers, written by hand because neither nvml.h nor the library is on a machine without GPUs.
//
// Layouts and numbers are those of NVML API version 12, read in the NVML API Reference Guide
// (docs.nvidia.com/deploy/nvml-api) and in pkg/nvml/nvml.h of github.com/NVIDIA/go-nvml. The names
// of functions are NVIDIA's, the names of types ours. The asserts hold the x86-64 and arm64 layout.
#pragma once

#include <cstddef>
#include <cstdint>

namespace keiko {

using NvmlDevice = struct NvmlDeviceHandle*;
using NvmlEventSet = struct NvmlEventSetHandle*;
using NvmlGpmSample = struct NvmlGpmSampleHandle*;

/// nvmlReturn_t, those that we tell apart.
enum NvmlReturn : int {
  kNvmlSuccess = 0,
  kNvmlUninitialized = 1,
  kNvmlInvalidArgument = 2,
  kNvmlNotSupported = 3,
  kNvmlNoPermission = 4,
  kNvmlNotFound = 6,
  kNvmlInsufficientSize = 7,
  kNvmlDriverNotLoaded = 9,
  kNvmlTimeout = 10,
  kNvmlFunctionNotFound = 13,
  kNvmlGpuIsLost = 15,
  kNvmlResetRequired = 16,
  kNvmlVersionMismatch = 18,  ///< library and kernel module differ
  kNvmlArgumentVersionMismatch = 25,
  kNvmlUnknown = 999,
};

/// The version word of a struct: its size and, in the top byte, its version.
constexpr uint32_t nvml_version(size_t size, uint32_t version) {
  return static_cast<uint32_t>(size) | version << 24;
}

struct NvmlPci {  // nvmlPciInfo_t
  char bus_id_legacy[16];
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
  uint32_t pci_device_id;
  uint32_t pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(NvmlPci) == 68 && offsetof(NvmlPci, bus_id) == 36);

struct NvmlMemory {  // nvmlMemory_t; `used` includes what the driver reserves
  uint64_t total;
  uint64_t free;
  uint64_t used;
};
static_assert(sizeof(NvmlMemory) == 24);

struct NvmlMemory2 {  // nvmlMemory_v2_t
  uint32_t version = nvml_version(40, 2);
  uint64_t total;
  uint64_t reserved;
  uint64_t free;
  uint64_t used;
};
static_assert(sizeof(NvmlMemory2) == 40 && offsetof(NvmlMemory2, total) == 8);

struct NvmlUtilization {  // nvmlUtilization_t, percent
  uint32_t gpu;
  uint32_t memory;
};

struct NvmlProcess {  // nvmlProcessInfo_v2_t, which the _v2 and _v3 functions fill
  uint32_t pid;
  uint64_t used_memory;
  uint32_t gpu_instance;
  uint32_t compute_instance;
};
static_assert(sizeof(NvmlProcess) == 24 && offsetof(NvmlProcess, gpu_instance) == 16);

struct NvmlProcessUse {  // nvmlProcessUtilizationSample_t, percent
  uint32_t pid;
  uint64_t timestamp_us;
  uint32_t sm;
  uint32_t memory;
  uint32_t encoder;
  uint32_t decoder;
};
static_assert(sizeof(NvmlProcessUse) == 32 && offsetof(NvmlProcessUse, sm) == 16);

struct NvmlAttributes {  // nvmlDeviceAttributes_t
  uint32_t multiprocessors;
  uint32_t copy_engines;
  uint32_t decoders;
  uint32_t encoders;
  uint32_t jpeg_engines;
  uint32_t ofa_engines;
  uint32_t gpu_slices;
  uint32_t compute_slices;
  uint64_t memory_mib;
};
static_assert(sizeof(NvmlAttributes) == 40);

struct NvmlSramErrors {  // nvmlEccSramErrorStatus_v1_t
  uint32_t version = nvml_version(104, 1);
  uint64_t aggregate_parity;
  uint64_t aggregate_secded;
  uint64_t aggregate_corrected;
  uint64_t volatile_parity;
  uint64_t volatile_secded;
  uint64_t volatile_corrected;
  uint64_t buckets[5];
  uint32_t threshold_exceeded;
};
static_assert(sizeof(NvmlSramErrors) == 104 && offsetof(NvmlSramErrors, buckets) == 56);

enum NvmlValueType : int {
  kNvmlDouble = 0,
  kNvmlUnsignedInt = 1,
  kNvmlUnsignedLong = 2,
  kNvmlUnsignedLongLong = 3,
  kNvmlSignedLongLong = 4,
  kNvmlSignedInt = 5,
};

struct NvmlField {  // nvmlFieldValue_t
  uint32_t id;
  uint32_t scope;
  int64_t timestamp_us;
  int64_t latency_us;
  NvmlValueType type;
  NvmlReturn status;
  union {
    double as_double;
    int32_t as_int;
    uint32_t as_unsigned;
    uint64_t as_unsigned_long;
    int64_t as_long;
  };
};
static_assert(sizeof(NvmlField) == 40 && offsetof(NvmlField, as_double) == 32);

struct NvmlEvent {  // nvmlEventData_t
  NvmlDevice device;
  uint64_t type;
  uint64_t code;
  uint32_t gpu_instance;
  uint32_t compute_instance;
};
static_assert(sizeof(NvmlEvent) == 32);

struct NvmlGpmSupport {  // nvmlGpmSupport_t
  uint32_t version = 1;
  uint32_t supported;
};

struct NvmlGpmMetric {  // nvmlGpmMetric_t
  uint32_t id;
  NvmlReturn status;
  double value;
  const char* names[3];
};
static_assert(sizeof(NvmlGpmMetric) == 40);

/// nvmlGpmMetricsGet_t. NVIDIA's array grew from 98 entries to 333; the library reads `count`.
struct NvmlGpmRequest {
  uint32_t version = 1;
  uint32_t count;
  NvmlGpmSample before;
  NvmlGpmSample after;
  NvmlGpmMetric metrics[333];
};
static_assert(offsetof(NvmlGpmRequest, metrics) == 24);

// Buffers, with room for every version's.
constexpr uint32_t kNvmlTextSize = 96;

// Field ids of nvmlDeviceGetFieldValues, NVML_FI_DEV_...
constexpr uint32_t kFieldMemoryTemperature = 82;
constexpr uint32_t kFieldNvlinkSpeedCommon = 90;  ///< MB/s of each active link
constexpr uint32_t kFieldNvlinkCount = 91;
constexpr uint32_t kFieldNvlinkSentKib = 138;      ///< scope: link, or all of them
constexpr uint32_t kFieldNvlinkReceivedKib = 139;
constexpr uint32_t kFieldRecoveryAction = 230;  ///< what an XID 154 announces

constexpr uint64_t kEventDoubleBitEcc = 0x2;
constexpr uint64_t kEventXid = 0x8;
constexpr uint32_t kNoInstance = 0xffffffff;
constexpr uint32_t kMostNvlinks = 18;
constexpr uint32_t kRemoteIsGpu = 0;
constexpr uint32_t kRemoteIsSwitch = 2;

}  // namespace keiko
