// FakeNvml: one machine of tests/fake_nvml/machines behind the fake library, and its changes while
// a test runs. Sets KEIKO_FAKE_NVML, so one at a time.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "drivers/devices/nvml/nvml_devices.h"

namespace keiko {

class FakeNvml {
 public:
  /// `shape` is the name of a file in tests/fake_nvml/machines, without its ending.
  explicit FakeNvml(std::string shape) : shape_(std::move(shape)) {
    const char* const above = std::getenv("TMPDIR");
    folder_ = std::string(above != nullptr ? above : "/tmp") + "/keiko-nvml-XXXXXX";
    CHECK(mkdtemp(folder_.data()) != nullptr);
    write();
    CHECK(setenv("KEIKO_FAKE_NVML", path().c_str(), 1) == 0);
  }
  ~FakeNvml() { std::filesystem::remove_all(folder_); }
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;

  /// Puts a value, written as JSON, where a JSON pointer says.
  void set(const std::string& at, const std::string& json) {
    edit("{\"at\": \"" + at + "\", \"value\": " + json + "}");
  }
  void remove(const std::string& at) { edit("{\"at\": \"" + at + "\"}"); }

  /// Adds an event of a GPU; `more` are further members, for example "\"gi\": 3".
  void raise(const std::string& uuid, int xid, const std::string& more = {}) {
    set("/events/-", "{\"id\": " + std::to_string(++events_) + ", \"uuid\": \"" + uuid +
                         "\", \"xid\": " + std::to_string(xid) + (more.empty() ? "" : ", ") +
                         more + "}");
  }

  /// A file of the machine's /sys or /proc.
  void file(const std::string& name, const std::string& text) {
    const std::filesystem::path at = folder_ + "/" + name;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text;
  }

  NvmlDevicesOptions options() const {
    NvmlDevicesOptions options;
    options.library = std::string(KEIKO_FAKE_NVML_BUILD) + "/fake_nvml/libnvidia-ml.so.1";
    options.activity_interval = {};
    options.places.sys_root = folder_ + "/sys";
    options.places.proc_root = folder_ + "/proc";
    return options;
  }

  std::string path() const { return folder_ + "/machine.json"; }
  const std::string& folder() const { return folder_; }

 private:
  void edit(const std::string& change) {
    edits_ += (edits_.empty() ? "" : ",\n") + change;
    write();
  }

  /// In one step, as whoever reads it meanwhile may expect.
  void write() {
    const std::string fresh = path() + ".new";
    std::ofstream(fresh) << "{\"base\": \"" << KEIKO_FAKE_NVML_MACHINES << "/" << shape_
                         << ".json\",\n\"edits\": [" << edits_ << "]}\n";
    std::filesystem::rename(fresh, path());
  }

  std::string shape_;
  std::string folder_;
  std::string edits_;
  int events_ = 0;
};

}  // namespace keiko
