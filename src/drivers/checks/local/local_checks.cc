#include "drivers/checks/local/local_checks.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <thread>

#include "base/text.h"
#include "drivers/checks/local/hook.h"
#include "drivers/checks/local/matmul.h"

namespace keiko {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Verdict = CheckVerdict;

/// 2026-01-01: this program is younger.
constexpr time_t kOldestTime = 1'767'225'600;
constexpr int32_t kQuickSize = 48;
constexpr int32_t kLongSize = 192;
constexpr int kLongRounds = 20;
/// Holders of less than this part of a device's memory, all together, are no trouble.
constexpr int64_t kLittle = 32;
/// A link that gives less than so many percent of what it gives in health is slow.
constexpr int64_t kSlowPercent = 70;

/// A warning: nothing of ours goes by the wall clock, but certificates and logs of jobs do.
CheckOutcome clock_outcome() {
  const time_t now = time(nullptr);
  if (now >= kOldestTime) return {"clock", {}, Verdict::kOk, "the clock shows a possible time"};
  return {"clock", {}, Verdict::kWarn,
          "the clock shows " + to_text(WallTime{int64_t{now} * 1'000'000'000}) +
              ", before this program was written; set it"};
}

std::string program_of(int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name.empty() ? "a process that is not seen here" : quote_text(name);
}

const Device* find_device(const Inventory& inventory, const std::string& uuid) {
  const auto found = std::find_if(inventory.devices.begin(), inventory.devices.end(),
                                  [&](const Device& device) { return device.uuid == uuid; });
  return found == inventory.devices.end() ? nullptr : &*found;
}

const Link* find_link(const Inventory& inventory, const Link& wanted) {
  const auto found = std::find_if(inventory.links.begin(), inventory.links.end(),
                                  [&](const Link& link) {
                                    return link.first == wanted.first &&
                                           link.second == wanted.second;
                                  });
  return found == inventory.links.end() ? nullptr : &*found;
}

std::string link_name(const Link& link) {
  return to_text(link.kind) + " between devices " + std::to_string(link.first) + " and " +
         std::to_string(link.second);
}

/// Links are told by the places of devices, and those move up while one before them is away.
bool are_places_kept(const CheckOrder& order, const Inventory& inventory) {
  const auto count = static_cast<int32_t>(inventory.devices.size());
  return std::all_of(order.links.begin(), order.links.end(), [&](const Link& link) {
    return std::max(link.first, link.second) < count;
  });
}

/// RETURNS: what is wrong with a link that was there at the start; empty if nothing is.
std::string link_fault(const Link& known, const Inventory& inventory) {
  const Link* const now = find_link(inventory, known);
  if (now == nullptr) return link_name(known) + " is gone";
  if (now->kind != known.kind) {
    return link_name(known) + " has become " + to_text(now->kind);
  }
  // What a slot gives by PCIe is the board's; a narrow one was narrow at the start, too.
  const bool of_board = now->kind != LinkKind::kNvlink && now->kind != LinkKind::kXgmi;
  const int64_t healthy =
      of_board ? known.megabytes_per_s
               : std::max(now->healthy_megabytes_per_s, known.healthy_megabytes_per_s);
  if (healthy <= 0 || now->megabytes_per_s * 100 >= healthy * kSlowPercent) return {};
  return link_name(known) + " gives " + std::to_string(now->megabytes_per_s) + " of " +
         std::to_string(healthy) + " MB/s";
}

/// Ties this thread to the cores of a cpu slot for as long as it lives, where that is possible.
class OnCoresOfSlot {
 public:
  OnCoresOfSlot(int32_t slot, int32_t slots) {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    int32_t place = 0;
    for (size_t core = 0; core < CPU_SETSIZE; ++core) {
      if (!CPU_ISSET(core, &before_)) continue;
      if (place++ % slots == slot % slots) CPU_SET(core, &wanted);
    }
    if (CPU_COUNT(&wanted) == 0) return;  // more slots than cores
    tied_ = sched_setaffinity(0, sizeof wanted, &wanted) == 0;
  }
  OnCoresOfSlot(const OnCoresOfSlot&) = delete;
  OnCoresOfSlot& operator=(const OnCoresOfSlot&) = delete;
  ~OnCoresOfSlot() {
    if (tied_) sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_{};
  bool tied_ = false;
};

std::map<std::string, std::string> hook_environment(const CheckOrder& order,
                                                    const Device* device) {
  std::map<std::string, std::string> environment{
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      {"HOME", "/"},
      {"LANG", "C.UTF-8"},
      {"KEIKO_CHECK", to_text(order.kind)}};
  if (device == nullptr) return environment;
  environment["KEIKO_DEVICE_UUID"] = device->uuid;
  environment["KEIKO_DEVICE_INDEX"] = std::to_string(device->index);
  environment["KEIKO_DEVICE_KIND"] = device->kind;
  environment["KEIKO_DEVICE_VENDOR"] = device->vendor;
  environment["KEIKO_DEVICE_PCI"] = device->pci_address;
  environment["KEIKO_DEVICE_PARENT"] = device->parent_uuid;
  return environment;
}

}  // namespace

std::vector<CheckOutcome> LocalChecks::run(const CheckOrder& order, const std::stop_token& stop) {
  Run run{order, stop, {}};
  if (order.kind == CheckKind::kReset) reset(run);
  if (order.machine) check_machine(run);
  if (!order.devices.empty()) check_devices(run);
  // A vendor's library shows a device that was lost only once everybody has closed it.
  devices_.reset();
  if (!options_.hooks_dir.empty() && order.kind != CheckKind::kReset) run_hooks(run);
  return std::move(run.outcomes);
}

/// The slices of a device are reset with it, so the first stands for all.
void LocalChecks::reset(Run& run) const {
  if (run.order.devices.empty()) return;
  const Device& device = run.order.devices.front();
  if (options_.reset_program.empty()) {
    run.outcomes.push_back({kResetCheck, device.uuid, Verdict::kNotCovered,
                            "nobody resets devices here"});
    return;
  }
  checks::Hook program{kResetCheck, options_.reset_program, {}, false};
  const checks::HookEnd end = checks::run_hook(
      program, {hook_environment(run.order, &device), options_.limit}, run.stop);
  const Verdict verdict = end.verdict == Verdict::kWarn ? Verdict::kUnknown : end.verdict;
  run.outcomes.push_back({kResetCheck, device.uuid, verdict, end.text});
  if (verdict != Verdict::kOk) run.outcomes.back().text += " (" + options_.reset_program + ")";
}

void LocalChecks::check_machine(Run& run) const {
  run.outcomes.push_back(clock_outcome());
}

void LocalChecks::check_devices(Run& run) {
  const Result<Inventory> found = inventory(run.order.kind);
  for (const Device& device : run.order.devices) {
    if (!found.ok()) {
      run.outcomes.push_back({"present", device.uuid, Verdict::kUnknown, found.error().message});
      continue;
    }
    if (find_device(*found, device.uuid) == nullptr) {
      run.outcomes.push_back({"present", device.uuid, Verdict::kCrit, "the device is not there"});
      continue;
    }
    run.outcomes.push_back({"present", device.uuid, Verdict::kOk, "the device is there"});
    check_memory(run, device);
    if (run.order.kind == CheckKind::kReset) continue;
    check_compute(run, *found, device);
  }
  if (found.ok()) check_links(run, *found);
}

Done LocalChecks::open() {
  if (!devices_) devices_ = TRY(make_devices_());
  return done();
}

Result<Inventory> LocalChecks::inventory(CheckKind kind) {
  const auto now = SteadyClock::now();
  const bool fresh = known_ && now - known_at_ < std::chrono::nanoseconds(options_.fresh.ns);
  if (kind == CheckKind::kPreflight && fresh) return *known_;
  known_.reset();
  TRY(open());
  known_ = TRY(devices_->fingerprint());
  known_at_ = now;
  return *known_;
}

/// RETURNS: who holds much of the device, in words; empty if nobody does.
Result<std::string> LocalChecks::holders(const Device& device) {
  TRY(open());
  const std::vector<DeviceProcess> all = TRY(devices_->processes(device.uuid));
  std::vector<std::string> names;
  Bytes held;
  bool is_known = true;
  for (const DeviceProcess& holder : all) {
    held = held + holder.memory.value_or(Bytes{});
    is_known = is_known && holder.memory.has_value();
  }
  // A desktop on a workstation's GPU takes a little, all the time.
  if (is_known && held.count <= device.memory.count / kLittle) return std::string();
  for (const DeviceProcess& holder : all) {
    std::string words = program_of(holder.pid) + " (pid " + std::to_string(holder.pid);
    if (holder.memory) words += ", " + to_text(*holder.memory);
    names.push_back(words + ")");
  }
  return join(names, ", ");
}

void LocalChecks::check_memory(Run& run, const Device& device) {
  const auto until =
      SteadyClock::now() + std::chrono::nanoseconds(options_.memory_patience.ns);
  while (true) {
    const Result<std::string> held = holders(device);
    if (!held.ok() && held.error().code == Code::kNotFound) {
      known_.reset();  // what a look some seconds ago found does not count any more
      run.outcomes.push_back({"present", device.uuid, Verdict::kCrit, "the device is not there"});
      return;
    }
    if (!held.ok()) {
      const bool untold = held.error().code == Code::kUnimplemented;
      run.outcomes.push_back({"memory", device.uuid,
                              untold ? Verdict::kNotCovered : Verdict::kUnknown,
                              untold ? "nobody can tell who holds it" : held.error().message});
      return;
    }
    if (held->empty()) {
      run.outcomes.push_back({"memory", device.uuid, Verdict::kOk, "nobody holds much of it"});
      return;
    }
    if (run.stop.stop_requested()) {
      run.outcomes.push_back({"memory", device.uuid, Verdict::kUnknown, "broken off"});
      return;
    }
    if (SteadyClock::now() >= until) {
      run.outcomes.push_back({"memory", device.uuid, Verdict::kCrit, "it is held by " + *held});
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

/// A link that is worse than it was slows work down and makes nothing wrong: a warning at each end.
void LocalChecks::check_links(Run& run, const Inventory& inventory) const {
  for (const Device& device : run.order.devices) {
    std::vector<std::string> faults;
    int count = 0;
    for (const Link& link : run.order.links) {
      if (link.first != device.index && link.second != device.index) continue;
      ++count;
      std::string fault = link_fault(link, inventory);
      if (!fault.empty()) faults.push_back(std::move(fault));
    }
    if (count == 0) continue;
    if (!are_places_kept(run.order, inventory)) {
      run.outcomes.push_back(
          {"links", device.uuid, Verdict::kNotCovered, "another device of the node is away"});
      continue;
    }
    const std::string well = std::to_string(count) + " links are as they were";
    run.outcomes.push_back({"links", device.uuid, faults.empty() ? Verdict::kOk : Verdict::kWarn,
                            faults.empty() ? well : join(faults, ", ")});
  }
}

void LocalChecks::check_compute(Run& run, const Inventory& inventory, const Device& device) const {
  if (device.vendor != "cpu") {
    run.outcomes.push_back({"compute", device.uuid, Verdict::kNotCovered,
                            "no " + device.vendor + " runtime computes in this process; a hook "
                            "can"});
    return;
  }
  const bool quick = run.order.kind == CheckKind::kPreflight;
  const auto slots = static_cast<int32_t>(inventory.devices.size());
  std::optional<OnCoresOfSlot> tied;
  if (!quick) tied.emplace(device.index, std::max(slots, 1));
  for (int round = 0; round < (quick ? 1 : kLongRounds); ++round) {
    if (run.stop.stop_requested()) {
      run.outcomes.push_back({"compute", device.uuid, Verdict::kUnknown, "broken off"});
      return;
    }
    const std::string wrong = checks::wrong_product(quick ? kQuickSize : kLongSize);
    if (wrong.empty()) continue;
    run.outcomes.push_back({"compute", device.uuid, Verdict::kCrit, "it computes wrong: " + wrong});
    return;
  }
  run.outcomes.push_back({"compute", device.uuid, Verdict::kOk, "it computes right"});
}

void LocalChecks::run_hooks(Run& run) const {
  const bool quick = run.order.kind == CheckKind::kPreflight;
  const Duration limit = quick ? options_.preflight_limit : options_.limit;
  const auto take = [&](const checks::Hook& hook, const Device* device) {
    const checks::HookEnd end =
        checks::run_hook(hook, {hook_environment(run.order, device), limit}, run.stop);
    run.outcomes.push_back({hook.name, device == nullptr ? "" : device->uuid, end.verdict,
                            end.text});
  };
  for (const checks::Hook& hook : checks::find_hooks(options_.hooks_dir)) {
    if (hook.of_machine) {
      if (run.order.machine) take(hook, nullptr);
      continue;
    }
    for (const Device& device : run.order.devices) take(hook, &device);
  }
}

}  // namespace keiko
