#include "drivers/images/cdi/cdi_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace keiko::images {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Device device_of(const std::string& uuid, const std::vector<std::string>& files) {
  Device device;
  device.uuid = uuid;
  device.vendor = "nvidia";
  device.files = files;
  return device;
}

TEST(CdiSpec, names_devices_by_uuid_in_the_lowest_version_that_can) {
  const std::string text = cdi_spec_of({device_of("GPU-a", {"/dev/nvidia0", "/dev/nvidiactl"}),
                                        device_of("GPU-b", {"/dev/nvidia1"})});
  const YAML::Node spec = YAML::Load(text);
  EXPECT_EQ(spec["cdiVersion"].as<std::string>(), "0.3.0");
  EXPECT_EQ(spec["kind"].as<std::string>(), "keiko.dev/device");
  ASSERT_EQ(spec["devices"].size(), 2U);
  const YAML::Node first = spec["devices"][0];
  EXPECT_EQ(first["name"].as<std::string>(), "GPU-a");
  EXPECT_EQ(first["containerEdits"]["deviceNodes"][1]["path"].as<std::string>(), "/dev/nvidiactl");
  // Names that begin with a digit are not in older versions.
  const YAML::Node newer = YAML::Load(cdi_spec_of({device_of("0000-1", {"/dev/accel0"})}));
  EXPECT_EQ(newer["cdiVersion"].as<std::string>(), "0.5.0");
}

TEST(CdiSpec, has_just_the_keys_that_loaders_know) {
  // A loader refuses a spec with a key that it does not know.
  const YAML::Node spec = YAML::Load(cdi_spec_of({device_of("GPU-a", {"/dev/nvidia0"})}));
  std::vector<std::string> keys;
  for (const auto& pair : spec) keys.push_back(pair.first.as<std::string>());
  EXPECT_THAT(keys, ElementsAre("cdiVersion", "kind", "devices"));
}

TEST(CdiSpec, is_empty_where_no_device_has_a_node) {
  EXPECT_EQ(cdi_spec_of({device_of("cpu-0", {})}), "");
}

class CdiFolders : public testing::Test {
 protected:
  CdiFolders() {
    std::string path = (fs::temp_directory_path() / "keiko-cdi-XXXXXX").string();
    folder_ = mkdtemp(path.data());
    std::ofstream(folder_ + "/libcuda.so.550.1") << "x";
  }
  ~CdiFolders() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  Result<CdiEdits> find(const std::vector<std::string>& names) {
    return find_cdi_edits({folder_ + "/none", folder_}, names, missing_);
  }
  /// As `nvidia-ctk cdi generate` writes it.
  std::string nvidia() const {
    return "---\ncdiVersion: 0.5.0\nkind: nvidia.com/gpu\n"
           "devices:\n"
           "- name: GPU-a\n  containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia0\n"
           "- name: GPU-b\n  containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia1\n"
           "containerEdits:\n"
           "  env:\n  - NVIDIA_VISIBLE_DEVICES=void\n"
           "  deviceNodes:\n  - path: /dev/nvidiactl\n  - path: /dev/nvidia-uvm\n"
           "  hooks:\n  - hookName: createContainer\n    path: /usr/bin/nvidia-ctk\n"
           "  mounts:\n"
           "  - hostPath: " + folder_ + "/libcuda.so.550.1\n"
           "    containerPath: /usr/lib/libcuda.so.550.1\n    options: [ro, nosuid, bind]\n"
           "  - hostPath: " + folder_ + "/gone\n    containerPath: /run/gone\n";
  }

  std::string folder_;
  std::vector<std::string> missing_;
};

TEST_F(CdiFolders, give_what_the_named_devices_need_and_no_others) {
  write("nvidia.yaml", nvidia());
  const auto edits = find({"nvidia.com/gpu=GPU-b"});
  ASSERT_TRUE(edits.ok()) << edits.error().text();
  EXPECT_THAT(edits->device_files,
              ElementsAre("/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm"));
  EXPECT_EQ(edits->env.at("NVIDIA_VISIBLE_DEVICES"), "void");
  // What is not there on the machine is left out.
  EXPECT_THAT(edits->mounts, ElementsAre(Mount{folder_ + "/libcuda.so.550.1",
                                               "/usr/lib/libcuda.so.550.1", true}));
  EXPECT_THAT(missing_, IsEmpty());
}

TEST_F(CdiFolders, tell_which_devices_nobody_names) {
  write("nvidia.yaml", nvidia());
  const auto edits = find({"nvidia.com/gpu=GPU-z", "amd.com/gpu=GPU-a"});
  ASSERT_TRUE(edits.ok());
  EXPECT_THAT(edits->device_files, IsEmpty());
  EXPECT_THAT(missing_, ElementsAre("amd.com/gpu=GPU-a", "nvidia.com/gpu=GPU-z"));
}

TEST_F(CdiFolders, read_what_we_write) {
  write("keiko.json", cdi_spec_of({device_of("GPU-a", {"/dev/nvidia0", "/dev/nvidiactl"})}));
  const auto edits = find({"keiko.dev/device=GPU-a"});
  ASSERT_TRUE(edits.ok()) << edits.error().text();
  EXPECT_THAT(edits->device_files, ElementsAre("/dev/nvidia0", "/dev/nvidiactl"));
}

TEST_F(CdiFolders, a_spec_that_is_none_is_named) {
  write("bad.json", "{\"kind\": [");
  const auto edits = find({"nvidia.com/gpu=GPU-a"});
  ASSERT_FALSE(edits.ok());
  EXPECT_THAT(edits.error().message, HasSubstr(folder_ + "/bad.json cannot be read"));
  write("bad.json", "[1, 2]");  // no map: names nothing
  EXPECT_TRUE(find({"nvidia.com/gpu=GPU-a"}).ok());
}

}  // namespace
}  // namespace keiko::images
