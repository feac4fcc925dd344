// Flags say what files say: the same job, the same errors.
#include "cli/job/job_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/job/job_fields.h"
#include "cli/job/job_file.h"
#include "cli/job/random_job.h"

namespace keiko::cli {
namespace {

using ::testing::HasSubstr;

/// The words that ask for `spec` on a command line. The command itself stands behind "--".
std::vector<std::string> flags_of(const JobSpec& spec) {
  std::vector<std::string> words;
  for (const JobField& field : job_fields()) {
    if (is_default(field, spec) || field.type == FieldType::kCommand) continue;
    if (const auto* map =
            std::get_if<std::map<std::string, std::string> JobSpec::*>(&field.member)) {
      for (const auto& [key, value] : spec.**map)
        words.push_back(field.flag() + "=" + key + "=" + value);
    } else if (field.type == FieldType::kMounts) {
      for (const Mount& mount : spec.mounts) words.push_back("--mounts=" + to_text(mount));
    } else if (field.type == FieldType::kFlag) {
      words.push_back(field.flag());
    } else {
      words.push_back(field.flag() + "=" + field_text(field, spec));
    }
  }
  return words;
}

Result<JobSpec> job_from_flags(const std::vector<std::string>& words) {
  OptionSet options;
  JobFlags flags;
  flags.add_to(options);
  TRY(options.parse(words));
  JobSpec spec;
  TRY(flags.apply("/here", spec));
  return spec;
}

TEST(JobFlags, say_the_same_as_a_file) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const JobSpec spec = random_job(seed);
    Result<JobSpec> by_flags = job_from_flags(flags_of(spec));
    ASSERT_TRUE(by_flags.ok()) << "seed=" << seed << " " << by_flags.error().text();
    by_flags->command = spec.command;
    const JobReading by_file = read_job(job_to_yaml(spec));
    ASSERT_EQ(fields_text(*by_flags), fields_text(by_file.spec)) << "seed=" << seed;
  }
}

TEST(JobFlags, refuse_what_a_file_refuses_and_name_the_flag) {
  EXPECT_EQ(job_from_flags({"--workers", "many"}).error().message,
            "--workers: \"many\" is not a whole number from 1 to 65536");
  EXPECT_EQ(job_from_flags({"--memory", "16"}).error().message,
            "--memory: 16 has no unit; write 16GiB or 16MiB");
  EXPECT_EQ(job_from_flags({"--kind", "trian"}).error().message,
            "--kind: \"trian\" is not one of batch, train; did you mean 'train'?");
  EXPECT_EQ(job_from_flags({"--env", "A"}).error().message, "--env: \"A\" is not KEY=VALUE");
  EXPECT_EQ(job_from_flags({"--wrokers", "2"}).error().message,
            "unknown option '--wrokers'; did you mean '--workers'?");
  EXPECT_THAT(job_from_flags({"--workers"}).error().message, HasSubstr("--workers"));
  EXPECT_EQ(job_from_flags({"--workers", "2", "--workers", "3"}).error().message,
            "--workers is given more than once");
}

TEST(JobFlags, take_negative_numbers_repeated_pairs_and_paths_from_here) {
  const Result<JobSpec> spec =
      job_from_flags({"--priority", "-5", "--env", "A=1", "--env", "B=x=y", "--workdir", "runs",
                      "--one-node", "--command", "echo hi"});
  ASSERT_TRUE(spec.ok()) << spec.error().text();
  EXPECT_EQ(spec->priority, -5);
  EXPECT_EQ(spec->env.at("A"), "1");
  EXPECT_EQ(spec->env.at("B"), "x=y");
  EXPECT_EQ(spec->workdir, "/here/runs");
  EXPECT_TRUE(spec->one_node);
  EXPECT_EQ(spec->command, shell_command("echo hi"));
}

TEST(JobFlags, lie_over_a_job_from_a_file) {
  OptionSet options;
  JobFlags flags;
  flags.add_to(options);
  ASSERT_TRUE(options.parse({"--workers", "4", "--no-one-node"}).ok());
  JobSpec spec = read_job("command: [a]\nworkers: 2\none_node: true\npriority: 3\n").spec;
  ASSERT_TRUE(flags.apply("/", spec).ok());
  EXPECT_EQ(spec.workers, 4);
  EXPECT_EQ(spec.priority, 3);
  EXPECT_FALSE(spec.one_node);
}

}  // namespace
}  // namespace keiko::cli
