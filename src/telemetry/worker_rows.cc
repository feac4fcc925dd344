// What a worker's cgroups, its processes and their devices tell of it.
#include "telemetry/rows.h"

namespace keiko::telemetry {
namespace {

constexpr SubjectKind kWorker = SubjectKind::kWorker;
constexpr MetricKind kGauge = MetricKind::kGauge;
constexpr MetricKind kCounter = MetricKind::kCounter;

constexpr MetricRow kRows[] = {
    {.subject = kWorker, .reading = "cpu_user_seconds", .name = "keiko_worker_cpu_seconds_total",
     .kind = kCounter, .unit = "seconds", .help = "Time on cores of all processes of a worker",
     .labels = R"(mode="user")"},
    {.subject = kWorker, .reading = "cpu_system_seconds", .name = "keiko_worker_cpu_seconds_total",
     .kind = kCounter, .unit = "seconds", .help = "", .labels = R"(mode="system")"},
    {.subject = kWorker, .reading = "cpu_seconds", .name = "keiko_worker_cpu_used_seconds_total",
     .kind = kCounter, .unit = "seconds",
     .help = "Time on cores of all processes of a worker, in and out of the kernel",
     .rate = "cpu_cores"},
    {.subject = kWorker, .reading = "cpu_cores", .name = "keiko_worker_cpu_cores", .kind = kGauge,
     .unit = "", .help = "Cores that a worker used between two samples"},
    {.subject = kWorker, .reading = "cpu_throttled_seconds",
     .name = "keiko_worker_cpu_throttled_seconds_total", .kind = kCounter, .unit = "seconds",
     .help = "Time that a worker was held back by its ceiling"},
    {.subject = kWorker, .reading = "memory_used_bytes", .name = "keiko_worker_memory_used_bytes",
     .kind = kGauge, .unit = "bytes",
     .help = "Memory of a worker, its part of the file cache included"},
    {.subject = kWorker, .reading = "memory_resident_bytes",
     .name = "keiko_worker_memory_resident_bytes", .kind = kGauge, .unit = "bytes",
     .help = "Memory of a worker that is not file cache"},
    {.subject = kWorker, .reading = "memory_limit_bytes", .name = "keiko_worker_memory_limit_bytes",
     .kind = kGauge, .unit = "bytes", .help = "Memory at which a worker is killed"},
    {.subject = kWorker, .reading = "oom_kills", .name = "keiko_worker_oom_kills_total",
     .kind = kCounter, .unit = "",
     .help = "Processes of a worker that were killed for want of memory"},
    {.subject = kWorker, .reading = "read_bytes", .name = "keiko_worker_io_bytes_total",
     .kind = kCounter, .unit = "bytes", .help = "Data that a worker read from and wrote to disks",
     .labels = R"(direction="read")"},
    {.subject = kWorker, .reading = "written_bytes", .name = "keiko_worker_io_bytes_total",
     .kind = kCounter, .unit = "bytes", .help = "", .labels = R"(direction="written")"},
    {.subject = kWorker, .reading = "device_memory_bytes",
     .name = "keiko_worker_device_memory_bytes", .kind = kGauge, .unit = "bytes",
     .help = "Memory that a worker holds on its devices"},
    {.subject = kWorker, .reading = "devices_busy", .name = "keiko_worker_devices_busy",
     .kind = kGauge, .unit = "",
     .help = "Devices that a worker kept busy: its shares of their time, added up"},
    {.subject = kWorker, .reading = "processes", .name = "keiko_worker_processes", .kind = kGauge,
     .unit = "", .help = "Processes of a worker, its shim included"},
};

}  // namespace

std::span<const MetricRow> worker_rows() { return kRows; }

}  // namespace keiko::telemetry
