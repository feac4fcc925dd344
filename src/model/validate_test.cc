#include <gtest/gtest.h>

#include "model/job.h"
#include "model/node.h"

namespace keiko {
namespace {

JobSpec good_job() {
  JobSpec spec;
  spec.name = "train";
  spec.command = {"true"};
  return spec;
}

#define EXPECT_BAD(spec, field_name, words)                                    \
  do {                                                                         \
    const Done refused = validate(spec);                                       \
    ASSERT_FALSE(refused.ok());                                                \
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);                   \
    EXPECT_EQ(refused.error().where, field_name);                              \
    EXPECT_NE(refused.error().message.find(words), std::string::npos)          \
        << refused.error().message;                                            \
  } while (false)

TEST(JobSpecRules, leave_a_plain_command_alone) { EXPECT_TRUE(validate(good_job()).ok()); }

TEST(JobSpecRules, name_what_is_no_name) {
  for (const std::string name : {"", "Train", "a_b", "-a", "a-", "a b"}) {
    JobSpec spec = good_job();
    spec.name = name;
    EXPECT_BAD(spec, "name", "is not a name");
  }
  JobSpec spec = good_job();
  spec.name = std::string(63, 'a');
  EXPECT_TRUE(validate(spec).ok());
  spec.name += 'a';
  EXPECT_BAD(spec, "name", "1 to 63");
}

TEST(JobSpecRules, want_a_program) {
  JobSpec spec = good_job();
  spec.command = {};
  EXPECT_BAD(spec, "command", "is empty");
  spec.command = {"", "x"};
  EXPECT_BAD(spec, "command", "is empty");
  spec.command = {"echo", std::string("a\0b", 3)};
  EXPECT_BAD(spec, "command", "NUL");
}

TEST(JobSpecRules, want_text_that_everybody_can_read) {
  JobSpec spec = good_job();
  spec.command = {"echo", "caf\xe9"};
  EXPECT_BAD(spec, "command", "not UTF-8 from byte 4 on");
  spec = good_job();
  spec.env["X"] = "\xff";
  EXPECT_BAD(spec, "env", "UTF-8");
  spec.env["X"] = "caf\xc3\xa9";
  EXPECT_TRUE(validate(spec).ok());
}

TEST(JobSpecRules, refuse_users_who_would_break_a_line) {
  JobSpec spec = good_job();
  for (const std::string user : {"", "root", "Ana Maria@example.org", "\u00fc"}) {
    spec.user = user;
    EXPECT_TRUE(validate(spec).ok()) << user;
  }
  for (const std::string user : {"a\nb", "\t", "\x1b[31m", "\x7f"}) {
    spec.user = user;
    EXPECT_BAD(spec, "user", "control characters");
  }
  spec.user = std::string(257, 'u');
  EXPECT_BAD(spec, "user", "over 256 bytes");
}

TEST(JobSpecRules, keep_names_apart_from_ids) {
  for (const std::string name : {"j1", "j0", "12", "0"}) {
    JobSpec spec = good_job();
    spec.name = name;
    EXPECT_BAD(spec, "name", "taken for a job's id");
  }
  for (const std::string name : {"j", "j1a", "1a", "job-1", "jj1"}) {
    JobSpec spec = good_job();
    spec.name = name;
    EXPECT_TRUE(validate(spec).ok()) << name;
  }
}

TEST(JobSpecRules, say_of_the_part_that_is_too_large_that_it_is) {
  JobSpec spec = good_job();
  spec.command.assign(100'000, "12345");
  EXPECT_BAD(spec, "command", "256KiB");
  spec = good_job();
  spec.env["X"] = std::string(300'000, 'x');
  EXPECT_BAD(spec, "env", "256KiB");
}

// With the same RANK for all, the workers of a gang would wait for each other until the time limit.
TEST(JobSpecRules, keep_what_tells_workers_apart_and_where_they_meet) {
  for (const char* name : {"RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "WORLD_SIZE",
                           "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    JobSpec spec = good_job();
    spec.env[name] = "0";
    EXPECT_BAD(spec, "env", std::string(name) + " is set by Keiko for each worker");
  }
  JobSpec spec = good_job();
  spec.env["MY_RANK"] = "0";
  EXPECT_TRUE(validate(spec).ok());
}

// Complaints 17 and 19: every rank on GPU 0; two jobs on one device.
TEST(JobSpecRules, keep_which_devices_a_worker_sees) {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES",
                           "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
                           "HABANA_VISIBLE_DEVICES", "TPU_VISIBLE_CHIPS"}) {
    JobSpec spec = good_job();
    spec.env[name] = "0";
    EXPECT_BAD(spec, "env", std::string(name) + " is set by Keiko to the devices");
  }
}

TEST(JobSpecRules, want_devices_where_their_kind_matters) {
  JobSpec spec = good_job();
  spec.device_kind = "h100";
  EXPECT_BAD(spec, "devices", "how many devices");
  spec.devices = 1;
  EXPECT_TRUE(validate(spec).ok());
}

TEST(JobSpecRules, want_an_image_that_lies_on_the_nodes) {
  JobSpec spec = good_job();
  spec.image = "/data/images/torch.tar";
  spec.mounts = {{"/data", "/data", true}};
  EXPECT_TRUE(validate(spec).ok());
  for (const std::string remote : {"docker://debian:12", "https://host/x.tar", "oci://r/x"}) {
    spec.image = remote;
    EXPECT_BAD(spec, "image", "skopeo copy " + remote);
  }
  for (const std::string path : {"debian", "images/x.tar", "/data/../etc", "/data//x", "/a/./b"}) {
    spec.image = path;
    EXPECT_BAD(spec, "image", "not an absolute path");
  }
}

TEST(JobSpecRules, want_mounts_that_have_a_place_in_an_image) {
  JobSpec spec = good_job();
  spec.mounts = {{"/data", "/data"}};
  EXPECT_BAD(spec, "mounts", "only a job with an image");
  spec.image = "/image";
  const std::vector<Mount> bad = {{"data", "/data"}, {"/data", "data"},    {"/data", "/"},
                                  {"/a/..", "/b"},   {"/a", "/b/../etc"}, {"", "/b"}};
  for (const Mount& mount : bad) {
    spec.mounts = {{"/good", "/good"}, mount};
    EXPECT_BAD(spec, "mounts", to_text(mount));
  }
  spec.mounts.assign(kMaxMounts + 1, {"/a", "/b"});
  EXPECT_BAD(spec, "mounts", "there may be 64");
}

TEST(Mounts, are_written_as_they_are_read) {
  for (const Mount& mount : {Mount{"/a", "/b", false}, Mount{"/a", "/b", true}}) {
    EXPECT_EQ(*parse_mount(to_text(mount)), mount);
  }
  for (const char* const text : {"", "/a", ":", "/a:", ":/b", "/a:/b:rw", "/a:/b:ro:x"}) {
    EXPECT_FALSE(parse_mount(text).ok()) << text;
  }
}

TEST(NodeSpecRules, let_a_link_join_two_devices_of_the_node) {
  NodeSpec spec;
  spec.name = "n1";
  spec.address = "10.0.0.1";
  spec.cpu_milli = 1000;
  spec.devices.resize(2);
  spec.devices[0].uuid = "a";
  spec.devices[1].uuid = "b";
  spec.devices[1].index = 1;
  Link link;
  link.second = 1;
  spec.links = {link};
  EXPECT_TRUE(validate(spec).ok());
  spec.links[0].second = 2;
  EXPECT_BAD(spec, "links", "0 and 2");
  spec.links = {};
  spec.devices[1].uuid = "a";
  EXPECT_BAD(spec, "devices", "used twice");
}

}  // namespace
}  // namespace keiko
