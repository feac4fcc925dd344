// FakeMachine: the machine that the fake management library shows, read from the JSON file that
// KEIKO_FAKE_NVML names and read again whenever that file changes.
//
// README.md in this folder describes the file. Handles of GPUs and slices live for ever, so that a
// caller may hold one while the file takes its GPU away. All access is under lock().
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "drivers/devices/nvml/nvml_symbols.h"

namespace keiko::fake_nvml {

using Json = nlohmann::json;

/// What stands behind an NvmlDevice.
struct Handle {
  std::string uuid;
  std::string parent;  ///< of a slice
};

std::mutex& lock();

/// RETURNS: the machine as the file is now; the last good one while the file is torn; null without
/// a file.
const Json& machine();

/// RETURNS: the handle of a UUID, always the same one.
NvmlDevice handle_of(const std::string& uuid, const std::string& parent = {});
const Handle& behind(NvmlDevice device);

/// RETURNS: the GPU or slice of a handle; null if it is lost or no longer in the file.
const Json* find(NvmlDevice device);
/// RETURNS: the GPU of a handle, or the GPU that its slice is part of.
const Json* find_gpu(NvmlDevice device);

/// Runs `body` with the machine locked, unless the file gives `function` an answer of its own or
/// the library was not started. Nothing is thrown out of it.
NvmlReturn answer(const char* function, const std::function<NvmlReturn()>& body);

/// Like answer(), with the GPU of a handle; kNvmlGpuIsLost if it is not there. `slice` asks for the
/// slice itself where the handle is one.
NvmlReturn answer_for(const char* function, NvmlDevice device,
                      const std::function<NvmlReturn(const Json& gpu)>& body, bool slice = false);

/// Starts and stops of the library; it answers nothing before the first and after the last.
void count_start(int by);

/// RETURNS: whether `owner` shall tell nonsense.
bool is_garbage(const Json& owner);

/// RETURNS: the number at a JSON pointer; nothing if there is none.
std::optional<uint64_t> number_at(const Json& owner, const char* pointer);
std::optional<double> real_at(const Json& owner, const char* pointer);

/// Writes text as the library does. RETURNS: kNvmlInsufficientSize if it does not fit.
NvmlReturn give_text(const std::string& text, char* out, uint32_t size);

/// Writes the number at a pointer, or nonsense. RETURNS: kNvmlNotSupported if there is none.
NvmlReturn give(const Json& owner, const char* pointer, uint32_t* out);
NvmlReturn give(const Json& owner, const char* pointer, uint64_t* out);

/// A value that no healthy GPU has, as real drivers leak them.
uint32_t garbage32();
uint64_t garbage64();

}  // namespace keiko::fake_nvml

/// What the shared library shows to the outside.
#define KEIKO_EXPORT extern "C" __attribute__((visibility("default")))

// Declared from the driver's own list, so that a definition with other parameters does not compile.
#define KEIKO_NVML_DECLARE(name, parameters) KEIKO_EXPORT keiko::NvmlReturn name parameters;
namespace keiko {
KEIKO_NVML_FUNCTIONS(KEIKO_NVML_DECLARE)
}
#undef KEIKO_NVML_DECLARE
