// NvmlLibrary: owns one loaded and initialised management library, and nothing else.
//
// Opened by dlopen, closed by its destructor. A function that the library lacks answers as one that
// the hardware lacks, so callers need no second way. Thread-safe as the library is, which NVIDIA
// promises; we use it from one thread.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/result.h"
#include "drivers/devices/nvml/nvml_symbols.h"

namespace keiko {

class NvmlLibrary {
 public:
  /// Loads `path` and starts it. Functions named in `ignored` are taken as missing.
  /// RETURNS: kNotFound if there is no such library; kFailedPrecondition if it is no management
  /// library, or library and kernel module differ; kUnavailable if the driver does not run.
  static Result<std::unique_ptr<NvmlLibrary>> open(const std::string& path,
                                                   const std::set<std::string>& ignored = {});
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  /// Calls one function. RETURNS: what it returns; kNvmlFunctionNotFound if it is not there.
  template <class... P, class... A>
  NvmlReturn call(NvmlReturn (*NvmlSymbols::*function)(P...), A... arguments) const {
    const auto pointer = symbols_.*function;
    return pointer == nullptr ? kNvmlFunctionNotFound : pointer(arguments...);
  }

  template <class Function>
  bool has(Function NvmlSymbols::*function) const {
    return symbols_.*function != nullptr;
  }

 private:
  explicit NvmlLibrary(void* handle) : handle_(handle) {}
  void load_symbols(const std::set<std::string>& ignored);
  Done start(const std::string& path);

  void* handle_;
  NvmlSymbols symbols_;
  bool started_ = false;
};

/// RETURNS: the sentence that a person needs for an answer other than success: what and what to do.
Error nvml_error(const std::string& what, NvmlReturn answer);

}  // namespace keiko
