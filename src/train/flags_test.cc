// What keiko-train makes of its arguments and environment.
#include "train/flags.h"

#include <gtest/gtest.h>

#include "train/program/command.h"

namespace keiko::train {
namespace {

std::string error_of(const std::vector<std::string>& arguments) {
  const auto line = parse_command_line(arguments);
  return line.ok() ? "" : line.error().message;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(TrainFlags, read_values_in_both_forms) {
  const auto line = MUST(parse_command_line(
      {"gpt", "--data", "a.txt", "--layers=2", "--lr", "3e-4", "--eval-full", "--seed=7"}));
  EXPECT_EQ(line.verb, Verb::kGpt);
  EXPECT_EQ(line.options.data, "a.txt");
  EXPECT_EQ(line.options.layers, 2);
  EXPECT_DOUBLE_EQ(line.options.lr, 3e-4);
  EXPECT_TRUE(line.options.eval_full);
  EXPECT_EQ(line.options.seed, 7);
}

TEST(TrainFlags, name_the_nearest_valid_word) {
  EXPECT_TRUE(contains(error_of({"gpt", "--layer", "2"}), "Did you mean --layers?"));
  EXPECT_TRUE(contains(error_of({"gtp"}), "Did you mean gpt?"));
  EXPECT_TRUE(contains(error_of({"sample", "--chekpoint", "x"}), "Did you mean --checkpoint?"));
}

TEST(TrainFlags, say_what_a_value_must_be) {
  EXPECT_TRUE(contains(error_of({"gpt", "--layers", "two"}), "a whole number from 1 to 1000"));
  EXPECT_TRUE(contains(error_of({"gpt", "--layers", "0"}), "out of range"));
  EXPECT_TRUE(contains(error_of({"gpt", "--steps", "1.5"}), "a whole number"));
  EXPECT_TRUE(contains(error_of({"gpt", "--lr", "nan"}), "out of range"));
  EXPECT_TRUE(contains(error_of({"gpt", "--lr"}), "--lr needs a value"));
  EXPECT_TRUE(contains(error_of({"gpt", "a.txt"}), "unexpected \"a.txt\""));
  EXPECT_TRUE(contains(error_of({}), "gpt or sample"));
  EXPECT_TRUE(contains(error_of({"sample"}), "--checkpoint is missing"));
}

TEST(TrainFlags, help_lists_every_flag) {
  const std::string help = help_text();
  for (const FlagRow& row : flag_rows()) {
    EXPECT_TRUE(contains(help, "--" + std::string(row.name))) << row.name;
  }
  EXPECT_EQ(MUST(parse_command_line({"gpt", "--help"})).verb, Verb::kHelp);
}

TEST(TrainFlags, refuse_combinations_that_cannot_train) {
  TrainOptions options;
  EXPECT_TRUE(contains(validate(options, 1).error().message, "--data is missing"));
  options.data = "a";
  EXPECT_TRUE(validate(options, 1).ok());
  EXPECT_TRUE(contains(validate(options, 13).error().message, "--batch 12"));
  options.width = 130;
  EXPECT_TRUE(contains(validate(options, 1).error().message, "132"));
  options.width = 128;
  options.tokenizer = "bpe";
  EXPECT_TRUE(contains(validate(options, 1).error().message, "byte or char"));
}

TEST(TrainFlags, ranks_may_keep_their_files_in_different_places) {
  TrainOptions one;
  TrainOptions other;
  other.data = "/elsewhere/text";
  other.checkpoint_dir = "/elsewhere";
  EXPECT_EQ(agreement_digest(one), agreement_digest(other));
  other.width = 256;
  EXPECT_NE(agreement_digest(one), agreement_digest(other));
}

TEST(TrainSchedule, warms_up_peaks_and_ends_at_the_least_rate) {
  TrainOptions options;
  options.steps = 1000;
  options.warmup = 100;
  EXPECT_GT(learning_rate(options, 0), 0);
  EXPECT_LT(learning_rate(options, 50), options.lr);
  EXPECT_DOUBLE_EQ(learning_rate(options, 100), options.lr);
  EXPECT_NEAR(learning_rate(options, 550), (options.lr + options.min_lr) / 2, 1e-9);
  EXPECT_NEAR(learning_rate(options, 1000), options.min_lr, 1e-12);
}

TEST(TrainEnvironment, defaults_to_one_rank) {
  const RankEnvironment environment = MUST(read_environment({}));
  EXPECT_EQ(environment.rank, 0);
  EXPECT_EQ(environment.world, 1);
}

TEST(TrainEnvironment, names_the_variable_that_makes_no_sense) {
  const auto error = [](const std::map<std::string, std::string>& variables) {
    return read_environment(variables).error().message;
  };
  EXPECT_TRUE(contains(error({{"WORLD_SIZE", "2"}}), "MASTER_PORT is not set"));
  EXPECT_TRUE(contains(error({{"WORLD_SIZE", "two"}}), "WORLD_SIZE is \"two\""));
  EXPECT_TRUE(contains(error({{"WORLD_SIZE", "2"}, {"RANK", "2"}, {"MASTER_PORT", "1"}}),
                       "RANK is \"2\"; expected a whole number from 0 to 1"));
}

}  // namespace
}  // namespace keiko::train
