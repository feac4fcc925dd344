#include "drivers/substrate/process/lease_file.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "drivers/substrate/process/proc.h"

namespace keiko::process {
namespace {

int64_t boottime_ns() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

Done LeaseFile::write(const std::string& path, Duration ends_in, Duration kill_in) {
  if (!file_) file_ = Fd(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  if (!file_) return errno_error("cannot open the lease file " + path, errno);
  const int64_t now = boottime_ns();
  char line[160];
  const int size = std::snprintf(line, sizeof line, "%-40s %020" PRId64 " %020" PRId64 "\n",
                                 identify(getpid()).boot_id.c_str(), now + ends_in.ns,
                                 now + kill_in.ns);
  if (pwrite(file_.get(), line, static_cast<size_t>(size), 0) == size) return done();
  return errno_error("cannot write the lease file " + path, errno);
}

std::optional<LeaseLeft> read_lease(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const auto text = read_file(path);
  if (!text.ok()) return std::nullopt;
  char boot[64] = "";
  int64_t ends = 0;
  int64_t kills = 0;
  if (std::sscanf(text->c_str(), "%63s %" SCNd64 " %" SCNd64, boot, &ends, &kills) != 3) {
    return std::nullopt;
  }
  if (identify(getpid()).boot_id != boot) return std::nullopt;
  const int64_t now = boottime_ns();
  return LeaseLeft{{ends - now}, {kills - now}};
}

}  // namespace keiko::process
