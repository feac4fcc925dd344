#include "drivers/host/hwloc/cpu_layout.h"

#include <hwloc.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

namespace keiko {
namespace {

constexpr char kRootVariable[] = "HWLOC_FSROOT";

/// Sets a variable of this process and puts back what was there.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() {
    if (before_) setenv(name_, before_->c_str(), 1);
    else unsetenv(name_);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

Error cannot_tell(const char* step) {
  return unavailable(std::string("hwloc cannot tell the cores and the memory of this machine: ") +
                     step + ": " + std::strerror(errno));
}

Result<Topology> load() {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) return cannot_tell("init");
  Topology topology(made);
  // Caches and what hangs on buses cost time and are not asked for.
  hwloc_topology_set_all_types_filter(made, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(made, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_type_filter(made, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(made) != 0) return cannot_tell("load");
  return topology;
}

std::string list_text(hwloc_const_bitmap_t set) {
  char* text = nullptr;
  if (hwloc_bitmap_list_asprintf(&text, set) < 0) return {};
  const std::unique_ptr<char, void (*)(void*)> owner(text, &std::free);
  return text;
}

using Threads = std::vector<unsigned>;

/// RETURNS: the threads of each core next to the memory, cores with most threads first.
std::vector<Threads> threads_of_cores(hwloc_topology_t topology, const hwloc_obj* numa) {
  std::vector<Threads> cores;
  const int count = std::max(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE), 0);
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
    const hwloc_obj* const core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, i);
    Threads threads;
    for (int at = hwloc_bitmap_first(core->cpuset); at >= 0;
         at = hwloc_bitmap_next(core->cpuset, at)) {
      const auto thread = static_cast<unsigned>(at);
      if (hwloc_bitmap_isset(numa->cpuset, thread) != 0) threads.push_back(thread);
    }
    if (!threads.empty()) cores.push_back(std::move(threads));
  }
  std::sort(cores.begin(), cores.end(), [](const Threads& one, const Threads& two) {
    if (one.size() != two.size()) return one.size() > two.size();
    return one.front() < two.front();
  });
  return cores;
}

/// RETURNS: "0-15,20": runs of numbers that follow each other, in the order given.
std::string runs_text(const Threads& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (last > i) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

/// RETURNS: NumaNode::siblings of the cores.
std::string siblings_text(const std::vector<Threads>& cores) {
  if (cores.empty() || cores.front().size() < 2) return {};
  std::string text;
  for (size_t column = 0; column < cores.front().size(); ++column) {
    Threads threads;
    for (const Threads& core : cores) {
      if (column < core.size()) threads.push_back(core[column]);
    }
    text += (text.empty() ? "" : " ") + runs_text(threads);
  }
  return text;
}

int32_t number_of(const hwloc_obj* object, unsigned fallback) {
  return static_cast<int32_t>(object->os_index == HWLOC_UNKNOWN_INDEX ? fallback
                                                                      : object->os_index);
}

/// The one package whose cores are next to the memory; -1 if there are none or several.
int32_t package_of(hwloc_topology_t topology, const hwloc_obj* numa) {
  int32_t found = -1;
  const int count = std::max(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE), 0);
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
    const hwloc_obj* const package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, i);
    if (hwloc_bitmap_intersects(package->cpuset, numa->cpuset) == 0) continue;
    if (found >= 0) return -1;
    found = number_of(package, i);
  }
  return found;
}

}  // namespace

Result<CpuLayout> read_cpu_layout(const std::string& root) {
  std::optional<ScopedVariable> moved;
  const std::string folder = root + (root == "/" ? "" : "/") + "sys/devices/system/cpu";
  if (access(folder.c_str(), R_OK | X_OK) != 0) {
    // hwloc would go on and make up a machine with one core.
    return unavailable("cannot tell the cores and the memory of this machine: " + folder + ": " +
                       std::strerror(errno));
  }
  if (root != "/") {
    if (!__libc_single_threaded) {
      return failed_precondition("hwloc cannot look below " + root +
                                 " in a process that has threads already");
    }
    moved.emplace(kRootVariable, root);
  }
  const Topology topology = TRY(load());
  CpuLayout layout;
  layout.packages = std::max(hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_PACKAGE), 0);
  const int count = std::max(hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_NUMANODE), 0);
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
    const hwloc_obj* const object = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_NUMANODE, i);
    NumaNode node;
    node.index = number_of(object, i);
    node.package = package_of(topology.get(), object);
    node.cores = list_text(object->cpuset);
    node.memory = Bytes{static_cast<int64_t>(object->attr->numanode.local_memory)};
    node.siblings = siblings_text(threads_of_cores(topology.get(), object));
    layout.numa.push_back(node);
  }
  std::sort(layout.numa.begin(), layout.numa.end(),
            [](const NumaNode& one, const NumaNode& two) { return one.index < two.index; });
  return layout;
}

}  // namespace keiko
