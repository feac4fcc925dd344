// What a person sees who wrote a job file, rightly or wrongly.
#include "cli/job/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "cli/job/job_fields.h"
#include "cli/job/random_job.h"

namespace keiko::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The problems of a file as its user reads them.
std::string complaints(std::string_view text) {
  return problems_text("job.yaml", read_job(text).problems);
}

TEST(JobFile, reads_every_key) {
  const JobReading reading = read_job(R"(# a comment
name: gpt-small
kind: train
queue: research
priority: -5
command: [python3, train.py, --lr, 3e-4]
env:
  OMP_NUM_THREADS: 1
  NAME: "two words"
workdir: /data/runs
workers: 16
one_node: false
node_labels: {zone: a}
resources:
  devices: 8
  device_kind: h100
  device_memory: 40GiB
  cpu: 0.5
  memory: 16GB
restarts: 5
infra_restarts: 6
grace: 1m30s
time_limit: 12h
log_limit: 4MiB
checkpoint_dir: /data/ckpt
slurm_env: yes
)");
  ASSERT_THAT(reading.problems, IsEmpty());
  const JobSpec& spec = reading.spec;
  EXPECT_EQ(spec.name, "gpt-small");
  EXPECT_EQ(spec.kind, JobKind::kTrain);
  EXPECT_EQ(spec.queue, "research");
  EXPECT_EQ(spec.priority, -5);
  EXPECT_THAT(spec.command, ElementsAre("python3", "train.py", "--lr", "3e-4"));
  EXPECT_EQ(spec.env.at("OMP_NUM_THREADS"), "1");
  EXPECT_EQ(spec.env.at("NAME"), "two words");
  EXPECT_EQ(spec.workdir, "/data/runs");
  EXPECT_EQ(spec.workers, 16);
  EXPECT_FALSE(spec.one_node);
  EXPECT_EQ(spec.node_labels.at("zone"), "a");
  EXPECT_EQ(spec.devices, 8);
  EXPECT_EQ(spec.device_kind, "h100");
  EXPECT_EQ(spec.device_memory, gibibytes(40));
  EXPECT_EQ(spec.cpu_milli, 500);
  EXPECT_EQ(spec.memory.count, 16'000'000'000);
  EXPECT_EQ(spec.restarts, 5);
  EXPECT_EQ(spec.infra_restarts, 6);
  EXPECT_EQ(spec.grace, seconds(90));
  EXPECT_EQ(spec.time_limit, hours(12));
  EXPECT_EQ(spec.log_limit, mebibytes(4));
  EXPECT_EQ(spec.checkpoint_dir, "/data/ckpt");
  EXPECT_TRUE(spec.slurm_env);
}

TEST(JobFile, a_text_as_command_is_run_by_the_shell) {
  EXPECT_THAT(read_job("command: echo $RANK | tee x").spec.command,
              ElementsAre("sh", "-c", "echo $RANK | tee x"));
}

TEST(JobFile, reads_an_image_and_its_mounts_in_either_form) {
  const JobReading reading = read_job("command: [a]\nimage: /images/torch.tar\n"
                                      "mounts: [\"/data:/in:ro\", {source: /out, target: /o},"
                                      " {source: /s, target: /t, read_only: true}]\n");
  ASSERT_THAT(reading.problems, IsEmpty());
  EXPECT_EQ(reading.spec.image, "/images/torch.tar");
  EXPECT_THAT(reading.spec.mounts,
              ElementsAre(Mount{"/data", "/in", true}, Mount{"/out", "/o", false},
                          Mount{"/s", "/t", true}));
}

TEST(JobFile, a_mount_that_is_none_is_told_with_its_place) {
  EXPECT_EQ(complaints("command: [a]\nimage: /i\nmounts: [\"/data\"]\n"),
            "job.yaml:3:10: mounts: \"/data\" is not SOURCE:TARGET or SOURCE:TARGET:ro");
  EXPECT_THAT(complaints("command: [a]\nimage: /i\nmounts: [{source: /d, targt: /t}]\n"),
              HasSubstr("job.yaml:3:10: mounts: each is {source: PATH, target: PATH"));
  EXPECT_THAT(complaints("command: [a]\nimage: /i\nmounts: /data:/data\n"),
              HasSubstr("should be a list of mounts"));
  EXPECT_THAT(complaints("command: [a]\nmounts: [\"/data:/data\"]\n"),
              HasSubstr("only a job with an image has mounts"));
}

TEST(JobFile, reads_json_as_well) {
  const JobReading reading = read_job(
      R"({"name": "a", "command": ["true"], "resources": {"memory": "1GiB", "devices": 2}})");
  ASSERT_THAT(reading.problems, IsEmpty());
  EXPECT_EQ(reading.spec.memory, gibibytes(1));
  EXPECT_EQ(reading.spec.devices, 2);
}

TEST(JobFile, a_misspelled_key_is_named_with_its_place_and_the_nearest_key) {
  EXPECT_EQ(complaints("command: [a]\nworkrs: 2\n"),
            "job.yaml:2:1: unknown key 'workrs'; did you mean 'workers'?");
  EXPECT_EQ(complaints("command: [a]\nresources:\n  devcies: 2\n"),
            "job.yaml:3:3: unknown key 'devcies' in resources; did you mean 'devices'?");
  EXPECT_EQ(complaints("command: [a]\nxyzzyplugh: 2\n"),
            "job.yaml:2:1: unknown key 'xyzzyplugh'; `keiko schema job` lists the keys");
  EXPECT_EQ(complaints("command: [a]\ndevice_memry: 2\n"),
            "job.yaml:2:1: unknown key 'device_memry'; did you mean 'resources.device_memory'?");
}

TEST(JobFile, a_key_in_the_wrong_section_is_told_where_it_belongs) {
  EXPECT_EQ(complaints("command: [a]\ndevices: 2\n"),
            "job.yaml:2:1: unknown key 'devices'; 'devices' belongs under 'resources:'");
  EXPECT_EQ(
      complaints("command: [a]\nresources: {workers: 2}\n"),
      "job.yaml:2:13: unknown key 'workers' in resources; 'workers' belongs to the top level");
  EXPECT_THAT(complaints("command: [a]\nuser: root\n"), HasSubstr("whoever submits"));
}

TEST(JobFile, lists_all_problems_in_the_order_of_the_file) {
  EXPECT_EQ(complaints("name: Bad_Name\n"
                       "wrokers: 2\n"
                       "priority: 5000\n"
                       "grace: 30 parsecs\n"
                       "resources:\n"
                       "  memory: lots\n"
                       "  device_kind: h100\n"),
            "job.yaml:1:1: command: is empty; give the program to run and its arguments\n"
            "job.yaml:1:7: name: \"Bad_Name\" is not a name; use 1 to 63 of a-z, 0-9 and '-', "
            "no '-' at the ends\n"
            "job.yaml:2:1: unknown key 'wrokers'; did you mean 'workers'?\n"
            "job.yaml:3:11: priority: 5000 is out of range; it must be -1000 to 1000\n"
            "job.yaml:4:8: grace: '30 parsecs' is not a duration; write a number and a unit "
            "(ms, s, m, h, d), for example 90s or 1h30m\n"
            "job.yaml:6:11: resources.memory: 'lots' is not a size; write a number and a unit "
            "(KiB, MiB, GiB, TiB; GB is decimal), for example 16GiB\n"
            "job.yaml:7:16: resources.devices: none asked for, but a device kind or device "
            "memory is; say how many devices each worker needs");
}

TEST(JobFile, a_number_without_a_unit_is_refused_unless_it_is_zero) {
  EXPECT_EQ(complaints("command: [a]\nresources: {memory: 16}\n"),
            "job.yaml:2:21: resources.memory: 16 has no unit; write 16GiB or 16MiB");
  EXPECT_EQ(complaints("command: [a]\ntime_limit: 30\n"),
            "job.yaml:2:13: time_limit: 30 has no unit; write 30s, 30m or 30h");
  EXPECT_THAT(complaints("command: [a]\ntime_limit: 0\nresources: {memory: 0}\n"), IsEmpty());
}

TEST(JobFile, a_wrong_type_is_told_what_is_expected) {
  EXPECT_EQ(complaints("command: [a]\nworkers: many\n"),
            "job.yaml:2:10: workers: \"many\" is not a whole number from 1 to 65536");
  EXPECT_EQ(complaints("command: [a]\nworkers: 2.5\n"),
            "job.yaml:2:10: workers: \"2.5\" is not a whole number from 1 to 65536");
  EXPECT_EQ(complaints("command: [a]\nworkers: \"2\"\n"),
            "job.yaml:2:10: workers: is the text \"2\", but should be a whole number from 1 to "
            "65536; take the quotes away");
  EXPECT_EQ(complaints("command: [a]\nworkers: [2]\n"),
            "job.yaml:2:10: workers: is a list, but should be a whole number from 1 to 65536");
  EXPECT_EQ(complaints("command: [a]\none_node: perhaps\n"),
            "job.yaml:2:11: one_node: \"perhaps\" is not true or false");
  EXPECT_EQ(complaints("command: [a]\nkind: trian\n"),
            "job.yaml:2:7: kind: \"trian\" is not one of batch, train; did you mean 'train'?");
  EXPECT_EQ(complaints("command: [a]\nresources: 5\n"),
            "job.yaml:2:12: resources: is \"5\", but should be a map of keys");
  EXPECT_EQ(
      complaints("command: [a]\nresources: {cpu: fast}\n"),
      "job.yaml:2:18: resources.cpu: \"fast\" is not a number of cores, such as 2, 0.5 or 500m");
  EXPECT_THAT(complaints("command: [a]\nresources: {cpu: 0.00001}\n"), HasSubstr("finer than"));
  EXPECT_THAT(complaints("command: {a: b}\n"), HasSubstr("command: is a map of keys"));
  EXPECT_THAT(complaints("command: [a, [b]]\n"),
              HasSubstr("job.yaml:1:14: command: this argument"));
  EXPECT_THAT(complaints("command: [a]\nenv: [a]\n"), HasSubstr("env: is a list"));
  EXPECT_THAT(complaints("command: [a]\nenv: {A: }\n"), HasSubstr("env.A: is empty"));
  EXPECT_THAT(complaints("command: [a]\nenv: {A: [1]}\n"), HasSubstr("env.A: is a list"));
  EXPECT_THAT(complaints("command: \"  \"\n"), HasSubstr("command: is empty"));
  EXPECT_THAT(complaints("command:\n"), HasSubstr("command: is empty"));
}

TEST(JobFile, a_duplicate_key_is_an_error_that_names_both_places) {
  EXPECT_EQ(complaints("command: [a]\nworkers: 2\nworkers: 3\n"),
            "job.yaml:3:1: key 'workers' stands here a second time; the first is at line 2");
  EXPECT_THAT(complaints("command: [a]\nenv:\n  A: 1\n  A: 2\n"),
              HasSubstr("job.yaml:4:3: env: 'A' stands here a second time"));
}

TEST(JobFile, an_impossible_shape_is_an_error) {
  EXPECT_THAT(complaints("command: [a]\nworkers: 0\n"),
              HasSubstr("job.yaml:2:10: workers: 0 is out"));
  EXPECT_THAT(complaints("command: [a]\nresources: {devices: 99999}\n"),
              HasSubstr("resources.devices: 99999 is out of range; it must be 0 to 1024"));
  EXPECT_THAT(complaints("command: [a]\nworkdir: here\n"), HasSubstr("not an absolute path"));
  EXPECT_THAT(complaints("command: [a]\ncheckpoint_dir: here\n"),
              HasSubstr("checkpoint_dir: \"here\" is not an absolute path"));
  EXPECT_THAT(complaints("command: [a]\nlog_limit: 1KiB\n"), HasSubstr("log_limit: 1024 is out"));
  EXPECT_THAT(complaints("command: [a]\nenv: {\"A=B\": 1}\n"), HasSubstr("not a variable name"));
}

TEST(JobFile, what_is_no_job_at_all_says_what_it_is) {
  EXPECT_THAT(complaints(""), HasSubstr("is empty; the least a job needs"));
  EXPECT_THAT(complaints("# only a comment\n"), HasSubstr("is empty"));
  EXPECT_THAT(complaints("- a\n- b\n"), HasSubstr("is a list, but a job is a map"));
  EXPECT_THAT(complaints("just text\n"), HasSubstr("but a job is a map"));
  EXPECT_THAT(complaints("command: [a\n"), HasSubstr("is not YAML here"));
  EXPECT_THAT(complaints("command: \"date\nname: a\n"), HasSubstr("is not YAML here"));
  EXPECT_THAT(complaints("command: 'date"), HasSubstr("is not YAML here"));
  EXPECT_THAT(complaints("command: [a]\n\tworkers: 2\n"), HasSubstr("job.yaml:2"));
  EXPECT_THAT(complaints("command: [a]\n---\ncommand: [b]\n"), HasSubstr("more than one document"));
  EXPECT_THAT(complaints(std::string_view("command: \0", 10)), HasSubstr("NUL"));
  EXPECT_THAT(complaints("[a]: b\n"), HasSubstr("a key must be a word"));
}

TEST(JobFile, anchors_work_and_merge_keys_say_that_they_do_not) {
  const JobReading reading = read_job("command: [a]\nenv: &e {A: 1}\nnode_labels: *e\n");
  ASSERT_THAT(reading.problems, IsEmpty());
  EXPECT_EQ(reading.spec.node_labels.at("A"), "1");
  EXPECT_THAT(complaints("command: [a]\nenv: &e {A: 1}\n<<: *e\n"), HasSubstr("merge keys"));
}

TEST(JobFile, hostile_documents_are_refused_quickly) {
  const auto start = std::chrono::steady_clock::now();
  std::string bomb = "command: [x]\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int j = 0; j < 9; ++j) bomb += ", " + last;
    bomb += "]\n";
  }
  EXPECT_THAT(complaints(bomb), HasSubstr("too large once its aliases are written out"));
  EXPECT_THAT(complaints("command: [" + std::string(300'000, 'x') + "]"), HasSubstr("256KiB"));
  std::string copies = "env: {A: &a " + std::string(100'000, 'x') + "}\ncommand: [*a";
  for (int i = 0; i < 20'000; ++i) copies += ", *a";
  EXPECT_THAT(complaints(copies + "]"), HasSubstr("too large"));
  EXPECT_THAT(complaints("command: &c [a, *c]\n"), HasSubstr("inside what it refers to"));
  EXPECT_THAT(complaints("command: *nobody\n"), HasSubstr("is not YAML here"));
  EXPECT_THAT(complaints("command: " + std::string(100'000, '[')), HasSubstr("deep"));
  EXPECT_THAT(complaints("command: " + std::string(100'000, '{')), HasSubstr("job.yaml:1"));
  std::string dashes;
  for (int i = 0; i < 60'000; ++i) dashes += "- ";
  EXPECT_THAT(complaints(dashes), HasSubstr("deep"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(JobFile, any_valid_job_comes_back_from_its_own_file) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    const JobSpec spec = random_job(seed);
    const std::string yaml = job_to_yaml(spec);
    const JobReading reading = read_job(yaml);
    ASSERT_THAT(reading.problems, IsEmpty()) << "seed=" << seed << "\n" << yaml;
    ASSERT_EQ(fields_text(reading.spec), fields_text(spec)) << "seed=" << seed << "\n" << yaml;
  }
}

struct Collector {
  std::vector<std::string>& names;
  void operator()(uint32_t, const char* name, const auto&) { names.push_back(name); }
};

TEST(JobFile, every_field_of_a_job_has_a_row) {
  std::vector<std::string> names;
  JobSpec spec;
  Collector collector{names};
  JobSpec::fields(spec, collector);
  std::erase(names, "user");
  std::vector<std::string> rows;
  for (const JobField& field : job_fields()) rows.push_back(field.spec_name);
  EXPECT_THAT(rows, ::testing::UnorderedElementsAreArray(names));
}

TEST(JobFile, a_file_that_is_not_there_is_not_found) {
  const Result<JobSpec> spec = load_job_file("/nonexistent/job.yaml");
  ASSERT_FALSE(spec.ok());
  EXPECT_EQ(spec.error().code, Code::kNotFound);
  EXPECT_THAT(spec.error().message, HasSubstr("/nonexistent/job.yaml"));
}

TEST(JobFile, errors_of_a_file_carry_its_name) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("keiko_job_file_" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(path) << "comand: [a]\n";
  const Result<JobSpec> spec = load_job_file(path.string());
  std::filesystem::remove(path);
  ASSERT_FALSE(spec.ok());
  EXPECT_EQ(spec.error().code, Code::kInvalidArgument);
  EXPECT_THAT(spec.error().message,
              HasSubstr(path.string() + ":1:1: unknown key 'comand'; did you mean 'command'?"));
}

TEST(JobName, says_what_the_command_is_about) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(name_from_command(Words{"python3", "-u", "/x/train_gpt.py", "--lr", "1"}), "train-gpt");
  EXPECT_EQ(name_from_command(Words{"sh", "-c", "echo hello"}), "echo");
  EXPECT_EQ(name_from_command(Words{"/usr/bin/keiko-train", "gpt"}), "keiko-train");
  EXPECT_EQ(name_from_command(Words{"???"}), "job");
  EXPECT_EQ(name_from_command(Words{"bash"}), "bash");
}

}  // namespace
}  // namespace keiko::cli
