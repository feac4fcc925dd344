// What the runtime is told, read back as JSON by another parser.
#include "drivers/substrate/process/image/oci_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "drivers/substrate/process/image/confinement.h"

namespace keiko::process {
namespace {

using Json = nlohmann::json;

ContainerSpec spec_of_a_worker() {
  ContainerSpec spec;
  spec.argv = {"/.keiko-init", "sh", "-c", "echo \"$A\"\n\\ é"};
  spec.env = {{"A", "1 \"two\" \\ \t"}, {"PATH", "/bin"}};
  spec.workdir = "/work";
  spec.cgroup = "/keiko-start-j1.1.0";
  spec.devices = {{"/dev/nvidia3", 'c', 195, 3}, {"/dev/nvidiactl", 'c', 195, 255}};
  return spec;
}

Json config_of(const ContainerSpec& spec) { return Json::parse(oci_config(spec)); }

TEST(OciConfig, runs_the_command_with_just_the_environment_that_it_was_given) {
  const ContainerSpec spec = spec_of_a_worker();
  const Json process = config_of(spec)["process"];
  EXPECT_EQ(process["args"].get<std::vector<std::string>>(), spec.argv);
  EXPECT_EQ(process["env"], (Json{"A=1 \"two\" \\ \t", "PATH=/bin"}));
  EXPECT_EQ(process["cwd"], "/work");
  EXPECT_EQ(process["terminal"], false);
}

TEST(OciConfig, leaves_no_right_and_no_way_to_one) {
  const Json config = config_of(spec_of_a_worker());
  const Json process = config["process"];
  EXPECT_EQ(process["noNewPrivileges"], true);
  for (const char* const set : {"bounding", "effective", "inheritable", "permitted", "ambient"}) {
    EXPECT_EQ(process["capabilities"][set], Json::array()) << set;
  }
  std::set<std::string> refused;
  const Json seccomp = config["linux"]["seccomp"];
  for (const Json& name : seccomp["syscalls"][0]["names"]) refused.insert(name);
  EXPECT_EQ(seccomp["syscalls"][0]["action"], "SCMP_ACT_ERRNO");
  EXPECT_EQ(refused.size(), denied_calls().size());
  for (const char* const call : {"mount", "bpf", "kexec_load", "init_module", "setns", "keyctl"}) {
    EXPECT_TRUE(refused.contains(call)) << call;
  }
}

TEST(OciConfig, has_a_read_only_root_and_namespaces_but_for_the_network) {
  const Json config = config_of(spec_of_a_worker());
  EXPECT_EQ(config["root"], (Json{{"path", "rootfs"}, {"readonly", true}}));
  std::set<std::string> kinds;
  for (const Json& space : config["linux"]["namespaces"]) kinds.insert(space["type"]);
  EXPECT_EQ(kinds, (std::set<std::string>{"user", "mount", "ipc", "pid"}));
  const Json users = {{{"containerID", 0}, {"hostID", 2'000'000'000}, {"size", 65'536}}};
  EXPECT_EQ(config["linux"]["uidMappings"], users);
  EXPECT_EQ(config["linux"]["gidMappings"], users);
  EXPECT_EQ(config["linux"]["cgroupsPath"], "/keiko-start-j1.1.0");
}

TEST(OciConfig, mounts_what_every_program_needs_without_programs_that_gain_rights) {
  std::set<std::string> targets;
  const Json config = config_of(spec_of_a_worker());
  for (const Json& mount : config["mounts"]) {
    targets.insert(mount["destination"]);
    const auto options = mount["options"].get<std::set<std::string>>();
    EXPECT_TRUE(options.contains("nosuid")) << mount;
  }
  EXPECT_EQ(targets, (std::set<std::string>{"/proc", "/dev", "/dev/pts", "/dev/shm",
                                            "/dev/mqueue"}));
  EXPECT_TRUE(config["linux"]["maskedPaths"].get<std::set<std::string>>().contains("/proc/kcore"));
  EXPECT_TRUE(config["linux"]["readonlyPaths"].get<std::set<std::string>>().contains("/proc/sys"));
}

TEST(OciConfig, gives_the_devices_of_the_worker_and_no_others) {
  const Json linux_part = config_of(spec_of_a_worker())["linux"];
  EXPECT_EQ(linux_part["devices"],
            (Json{{{"path", "/dev/nvidia3"}, {"type", "c"}, {"major", 195}, {"minor", 3}},
                  {{"path", "/dev/nvidiactl"}, {"type", "c"}, {"major", 195}, {"minor", 255}}}));
  const Json rules = linux_part["resources"]["devices"];
  ASSERT_EQ(rules.size(), 3U);
  EXPECT_EQ(rules[0], (Json{{"allow", false}, {"access", "rwm"}}));
  EXPECT_EQ(rules[1], (Json{{"allow", true}, {"type", "c"}, {"major", 195}, {"minor", 3},
                            {"access", "rw"}}));
  ContainerSpec none = spec_of_a_worker();
  none.devices.clear();
  EXPECT_EQ(config_of(none)["linux"]["devices"], Json::array());
}

}  // namespace
}  // namespace keiko::process
