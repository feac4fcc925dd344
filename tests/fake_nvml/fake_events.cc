// The fake library: error events. "events" in the file is a log with growing ids; a set hands out
// those that were added after a GPU was registered with it.
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <thread>

#include "fake_machine.h"

using namespace keiko;
using namespace keiko::fake_nvml;

namespace {

struct EventSet {
  std::map<std::string, uint64_t> wanted;  ///< by UUID
  uint64_t seen = 0;                       ///< the last id handed out
};

EventSet& set_of(NvmlEventSet set) { return *reinterpret_cast<EventSet*>(set); }

uint64_t last_id() {
  uint64_t last = 0;
  for (const Json& event : machine().value("events", Json::array())) {
    last = std::max(last, event.value("id", uint64_t{0}));
  }
  return last;
}

NvmlReturn next_event(EventSet& set, NvmlEvent* out) {
  for (const Json& event : machine().value("events", Json::array())) {
    const uint64_t id = event.value("id", uint64_t{0});
    if (id <= set.seen) continue;
    set.seen = id;
    const std::string uuid = event.value("uuid", "");
    const uint64_t type = event.value("type", kEventXid);
    const auto wanted = set.wanted.find(uuid);
    if (wanted == set.wanted.end() || (wanted->second & type) == 0) continue;
    *out = {handle_of(uuid), type, event.value("xid", uint64_t{0}),
            event.value("gi", kNoInstance), event.value("ci", kNoInstance)};
    return kNvmlSuccess;
  }
  return kNvmlTimeout;
}

}  // namespace

KEIKO_EXPORT NvmlReturn nvmlEventSetCreate(NvmlEventSet* set) {
  return answer("nvmlEventSetCreate", [&] {
    auto* const fresh = new EventSet;
    fresh->seen = last_id();
    *set = reinterpret_cast<NvmlEventSet>(fresh);
    return kNvmlSuccess;
  });
}

KEIKO_EXPORT NvmlReturn nvmlEventSetFree(NvmlEventSet set) {
  delete &set_of(set);
  return kNvmlSuccess;
}

KEIKO_EXPORT NvmlReturn nvmlDeviceGetSupportedEventTypes(NvmlDevice device, uint64_t* types) {
  return answer_for("nvmlDeviceGetSupportedEventTypes", device, [&](const Json& gpu) {
    *types = number_at(gpu, "/event_types").value_or(0x1f);
    return kNvmlSuccess;
  });
}

KEIKO_EXPORT NvmlReturn nvmlDeviceRegisterEvents(NvmlDevice device, uint64_t types,
                                                 NvmlEventSet set) {
  return answer_for("nvmlDeviceRegisterEvents", device, [&](const Json& gpu) {
    if ((types & ~number_at(gpu, "/event_types").value_or(0x1f)) != 0) return kNvmlNotSupported;
    set_of(set).wanted[behind(device).uuid] |= types;
    return kNvmlSuccess;
  });
}

KEIKO_EXPORT NvmlReturn nvmlEventSetWait_v2(NvmlEventSet set, NvmlEvent* event,
                                            uint32_t timeout_ms) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    const NvmlReturn found =
        answer("nvmlEventSetWait_v2", [&] { return next_event(set_of(set), event); });
    if (found != kNvmlTimeout || Clock::now() >= end) return found;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}
