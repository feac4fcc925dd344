#include "drivers/devices/nvml/nvml_library.h"

#include <dlfcn.h>

namespace keiko {

Result<std::unique_ptr<NvmlLibrary>> NvmlLibrary::open(const std::string& path,
                                                       const std::set<std::string>& ignored) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    return not_found("NVIDIA's management library cannot be loaded: " +
                     std::string(why == nullptr ? path : why) +
                     "; install the NVIDIA driver, or run the agent with --devices cpu");
  }
  std::unique_ptr<NvmlLibrary> library(new NvmlLibrary(handle));
  library->load_symbols(ignored);
  TRY(library->start(path));
  return library;
}

NvmlLibrary::~NvmlLibrary() {
  if (started_) call(&NvmlSymbols::nvmlShutdown);
  dlclose(handle_);
}

void NvmlLibrary::load_symbols(const std::set<std::string>& ignored) {
#define KEIKO_NVML_LOAD(name, parameters)                                           \
  if (ignored.count(#name) == 0) {                                                  \
    symbols_.name = reinterpret_cast<NvmlReturn(*) parameters>(dlsym(handle_, #name)); \
  }
  KEIKO_NVML_FUNCTIONS(KEIKO_NVML_LOAD)
#undef KEIKO_NVML_LOAD
}

Done NvmlLibrary::start(const std::string& path) {
  const NvmlReturn answer = call(&NvmlSymbols::nvmlInit_v2);
  if (answer == kNvmlFunctionNotFound) {
    return failed_precondition(path + " has no nvmlInit_v2, so it is not NVIDIA's management "
                               "library of 2012 or later; give the right one");
  }
  if (answer != kNvmlSuccess) return nvml_error("start " + path, answer);
  started_ = true;
  return done();
}

Error nvml_error(const std::string& what, NvmlReturn answer) {
  const std::string number = " (NVML answers " + std::to_string(answer) + ")";
  switch (answer) {
    case kNvmlDriverNotLoaded:
      return unavailable(what + ": the NVIDIA kernel module is not loaded" + number +
                         "; load it with `modprobe nvidia`");
    case kNvmlVersionMismatch:
      return failed_precondition(what +
                                 ": the driver was updated, library and kernel module differ" +
                                 number + "; reboot the machine or reload the module");
    case kNvmlNoPermission:
      return {Code::kPermissionDenied,
              what + ": not allowed" + number + "; give the agent access to /dev/nvidia*", {}};
    case kNvmlGpuIsLost:
      return unavailable(what + ": the GPU fell off the bus" + number + "; reboot the machine");
    case kNvmlResetRequired:
      return unavailable(what + ": the GPU needs a reset" + number +
                         "; drain the node and run `nvidia-smi --gpu-reset`");
    case kNvmlNotSupported:
    case kNvmlFunctionNotFound:
      return {Code::kUnimplemented, what + ": this GPU or its driver cannot tell" + number, {}};
    default:
      return unavailable(what + ": NVIDIA's management library failed" + number +
                         "; see the kernel log for NVRM lines");
  }
}

}  // namespace keiko
