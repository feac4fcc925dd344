// Reads the file of the machine, keeps it, and answers from it.
#include "fake_machine.h"

#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <tuple>

namespace keiko::fake_nvml {
namespace {

/// What tells one state of a file from another.
using Stamp = std::tuple<std::string, ino_t, off_t, time_t, long>;

struct Loaded {
  Stamp stamp;
  Json machine;
};

Loaded& loaded() {
  static Loaded state;
  return state;
}

int starts = 0;

Stamp stamp_of(const std::string& path) {
  struct stat status {};
  if (path.empty() || stat(path.c_str(), &status) != 0) return {};
  return {path, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

Json read(const std::string& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

/// Takes out what a pointer names; what is not there is out already.
void remove(Json& machine, const Json::json_pointer& at) {
  Json& owner = machine[at.parent_pointer()];
  if (owner.is_array()) owner.erase(std::stoul(at.back()));
  else if (owner.is_object()) owner.erase(at.back());
}

/// "base" is another file, beside this one unless absolute; "edits" are applied in their order.
Json compose(const std::string& path) {
  Json file = read(path);
  Json whole = file;
  if (file.contains("base")) {
    const std::string base = file["base"].get<std::string>();
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    whole = compose(base.front() == '/' ? base : folder + base);
  }
  for (const Json& edit : file.value("edits", Json::array())) {
    const Json::json_pointer at(edit.at("at").get<std::string>());
    if (edit.contains("value")) whole[at] = edit["value"];
    else remove(whole, at);
  }
  return whole;
}

/// Each GPU begins as a copy of "defaults".
void fill(Json& machine) {
  const Json defaults = machine.value("defaults", Json::object());
  for (Json& gpu : machine["gpus"]) {
    Json full = defaults;
    full.merge_patch(gpu);
    gpu = full;
  }
}

const Json* find_uuid(const Json& list, const std::string& uuid) {
  for (const Json& entry : list) {
    if (entry.value("uuid", "") == uuid) return &entry;
  }
  return nullptr;
}

}  // namespace

std::mutex& lock() {
  static std::mutex mutex;
  return mutex;
}

const Json& machine() {
  const char* const path = std::getenv("KEIKO_FAKE_NVML");
  const Stamp stamp = stamp_of(path == nullptr ? "" : path);
  Loaded& state = loaded();
  if (stamp == state.stamp) return state.machine;
  if (stamp == Stamp{}) {
    state = {};
    return state.machine;
  }
  try {
    Json fresh = compose(path);
    fill(fresh);
    state = {stamp, std::move(fresh)};
  } catch (const std::exception&) {  // being written: the next call tries again
  }
  return state.machine;
}

NvmlDevice handle_of(const std::string& uuid, const std::string& parent) {
  static std::map<std::string, Handle> handles;
  Handle& handle = handles[uuid];
  handle = {uuid, parent};
  return reinterpret_cast<NvmlDevice>(&handle);
}

const Handle& behind(NvmlDevice device) { return *reinterpret_cast<const Handle*>(device); }

const Json* find_gpu(NvmlDevice device) {
  const Handle& handle = behind(device);
  const Json* gpu =
      find_uuid(machine()["gpus"], handle.parent.empty() ? handle.uuid : handle.parent);
  return gpu != nullptr && !gpu->value("lost", false) ? gpu : nullptr;
}

const Json* find(NvmlDevice device) {
  const Json* const gpu = find_gpu(device);
  if (gpu == nullptr || behind(device).parent.empty()) return gpu;
  const Json::json_pointer slices("/mig/slices");
  return gpu->contains(slices) ? find_uuid((*gpu)[slices], behind(device).uuid) : nullptr;
}

void count_start(int by) { starts += by; }

NvmlReturn answer(const char* function, const std::function<NvmlReturn()>& body) {
  const std::lock_guard guard(lock());
  try {
    const Json& shown = machine();
    if (shown.is_null()) return kNvmlDriverNotLoaded;
    if (shown.contains("answers") && shown["answers"].contains(function)) {
      return static_cast<NvmlReturn>(shown["answers"][function].get<int>());
    }
    if (starts <= 0 && std::strcmp(function, "nvmlInit_v2") != 0) return kNvmlUninitialized;
    return body();
  } catch (const std::exception&) {
    return kNvmlUnknown;
  }
}

NvmlReturn answer_for(const char* function, NvmlDevice device,
                      const std::function<NvmlReturn(const Json& gpu)>& body, bool slice) {
  return answer(function, [&] {
    if (device == nullptr) return kNvmlInvalidArgument;
    const Json* const found = slice ? find(device) : find_gpu(device);
    return found == nullptr ? kNvmlGpuIsLost : body(*found);
  });
}

bool is_garbage(const Json& owner) {
  return owner.value("garbage", false) || machine().value("garbage", false);
}

std::optional<double> real_at(const Json& owner, const char* pointer) {
  const Json::json_pointer at(pointer);
  if (!owner.contains(at) || !owner[at].is_number()) return std::nullopt;
  return owner[at].get<double>();
}

std::optional<uint64_t> number_at(const Json& owner, const char* pointer) {
  const Json::json_pointer at(pointer);
  if (!owner.contains(at) || !owner[at].is_number()) return std::nullopt;
  return owner[at].get<uint64_t>();
}

NvmlReturn give_text(const std::string& text, char* out, uint32_t size) {
  if (text.size() >= size) return kNvmlInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return kNvmlSuccess;
}

uint32_t garbage32() {
  static constexpr uint32_t kValues[] = {0xffffffff, 0x7ffffff0, 0xfffffffe};
  static size_t next = 0;
  return kValues[next++ % std::size(kValues)];
}

uint64_t garbage64() {
  static constexpr uint64_t kValues[] = {UINT64_MAX, 9223372036854775794U, INT64_MAX};
  static size_t next = 0;
  return kValues[next++ % std::size(kValues)];
}

NvmlReturn give(const Json& owner, const char* pointer, uint32_t* out) {
  const auto value = number_at(owner, pointer);
  if (!value) return kNvmlNotSupported;
  *out = is_garbage(owner) ? garbage32() : static_cast<uint32_t>(*value);
  return kNvmlSuccess;
}

NvmlReturn give(const Json& owner, const char* pointer, uint64_t* out) {
  const auto value = number_at(owner, pointer);
  if (!value) return kNvmlNotSupported;
  *out = is_garbage(owner) ? garbage64() : *value;
  return kNvmlSuccess;
}

}  // namespace keiko::fake_nvml
