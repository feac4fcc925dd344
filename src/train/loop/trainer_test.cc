// Whole runs of tiny models: exact resume, one rank against several, notices, signals, lost peers.
#include "train/loop/trainer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/log.h"
#include "ports/collective_fake.h"
#include "train/loop/evaluate.h"
#include "train/program/command.h"

namespace keiko::train {
namespace {

namespace fs = std::filesystem;

std::string some_text() {
  std::string text;
  for (int i = 0; i < 120; ++i) text += "the cat sat on mat " + std::to_string(i * i) + "\n";
  return text;
}

/// What a run of all ranks left behind.
struct RunRecord {
  std::vector<double> losses;  ///< rank 0's, one per step
  std::string weights;         ///< rank 0's bytes at the end
  bool ranks_agree = true;     ///< all ranks had the same bytes
  std::vector<Result<TrainOutcome>> outcomes;
};

class TrainRuns : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_one_thread(); }

  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "keiko-run-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    set_log_level(LogLevel::kError);
  }
  void TearDown() override {
    fs::remove_all(folder_);
    set_log_level(LogLevel::kInfo);
  }

  static TrainOptions tiny() {
    TrainOptions options;
    options.data = "text";
    options.layers = 1;
    options.heads = 2;
    options.width = 16;
    options.context = 8;
    options.batch = 5;  // two ranks get 2 and 3 samples
    options.steps = 12;
    options.warmup = 2;
    options.bucket_kib = 2;
    options.dropout = 0.1;
    options.checkpoint_every = 3;
    return options;
  }

  TrainOptions saving(const std::string& name) const {
    TrainOptions options = tiny();
    options.checkpoint_dir = folder_ + "/" + name;
    return options;
  }

  /// Trains on `world` threads. `kill_after`: all ranks drop dead after that step, unsaved.
  static RunRecord run(const TrainOptions& options, int world, int64_t kill_after = -1) {
    const Corpus corpus = MUST(Corpus::from_text(some_text(), TokenizerKind::kChar, 8));
    auto group = make_fake_collectives({world, seconds(60)});
    RunRecord record;
    record.outcomes.assign(static_cast<size_t>(world), TrainOutcome{});
    std::vector<std::string> weights(static_cast<size_t>(world));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < world; ++rank) {
      threads.emplace_back([&, rank] {
        const auto index = static_cast<size_t>(rank);
        WorkerSession session{SessionOptions{}};
        TrainHooks hooks;
        hooks.on_step = [&](const StepReport& report) {
          if (rank == 0) record.losses.push_back(report.loss);
          return report.step != kill_after;
        };
        Trainer trainer({options, corpus, *group[index], session}, hooks);
        record.outcomes[index] = trainer.run();
        const std::span<float> all = trainer.state().arena().weights();
        weights[index].assign(reinterpret_cast<const char*>(all.data()), all.size_bytes());
      });
    }
    for (std::thread& thread : threads) thread.join();
    record.weights = weights[0];
    for (const std::string& other : weights) record.ranks_agree &= other == weights[0];
    return record;
  }

  std::string folder_;
};

TEST_F(TrainRuns, killed_at_any_step_and_resumed_end_in_the_same_bits) {
  for (const int world : {1, 2}) {
    const RunRecord whole = run(tiny(), world);
    ASSERT_TRUE(whole.outcomes[0].ok()) << whole.outcomes[0].error().text();
    ASSERT_EQ(whole.losses.size(), 12U);
    EXPECT_TRUE(whole.ranks_agree);
    for (const int64_t kill_after : {1, 3, 4, 8, 11}) {
      const TrainOptions options =
          saving("w" + std::to_string(world) + "k" + std::to_string(kill_after));
      EXPECT_FALSE(run(options, world, kill_after).outcomes[0].ok());
      const RunRecord resumed = run(options, world);
      const auto& outcome = resumed.outcomes[0];
      ASSERT_TRUE(outcome.ok()) << outcome.error().text();
      EXPECT_EQ(outcome->resumed_from, (kill_after - 1) / 3 * 3);  // it died before saving
      const std::vector<double> tail(whole.losses.begin() + outcome->resumed_from,
                                     whole.losses.end());
      EXPECT_EQ(resumed.losses, tail) << "world " << world << " killed after " << kill_after;
      EXPECT_EQ(resumed.weights, whole.weights);
      EXPECT_TRUE(resumed.ranks_agree);
    }
  }
}

TEST_F(TrainRuns, learn) {
  TrainOptions options = tiny();
  options.dropout = 0;
  options.steps = 60;
  options.lr = 1e-2;
  const RunRecord record = run(options, 1);
  EXPECT_LT(record.losses.back(), record.losses.front() * 0.8);
}

TEST_F(TrainRuns, follow_the_same_losses_with_one_rank_and_with_several) {
  TrainOptions options = tiny();
  options.dropout = 0;  // masks are drawn per rank
  const RunRecord one = run(options, 1);
  for (const int world : {2, 3, 5}) {
    const RunRecord several = run(options, world);
    ASSERT_EQ(several.losses.size(), one.losses.size());
    for (size_t i = 0; i < one.losses.size(); ++i) {
      EXPECT_NEAR(several.losses[i], one.losses[i], 1e-5) << world << " ranks, step " << i;
    }
    EXPECT_TRUE(several.ranks_agree);
  }
}

TEST_F(TrainRuns, are_the_same_bits_when_run_twice) {
  const RunRecord first = run(tiny(), 2);
  const RunRecord second = run(tiny(), 2);
  EXPECT_EQ(first.losses, second.losses);
  EXPECT_EQ(first.weights, second.weights);
}

TEST_F(TrainRuns, resume_on_another_number_of_ranks) {
  const TrainOptions options = saving("resize");
  EXPECT_FALSE(run(options, 1, 7).outcomes[0].ok());
  const RunRecord resumed = run(options, 3);
  for (const auto& outcome : resumed.outcomes) {
    ASSERT_TRUE(outcome.ok()) << outcome.error().text();
    EXPECT_EQ(outcome->resumed_from, 6);
  }
}

TEST_F(TrainRuns, pass_over_a_damaged_checkpoint) {
  const TrainOptions options = saving("damaged");
  EXPECT_FALSE(run(options, 1, 10).outcomes[0].ok());
  std::ofstream(options.checkpoint_dir + "/step-0000000009.ckpt", std::ios::app) << "x";
  const RunRecord resumed = run(options, 1);
  ASSERT_TRUE(resumed.outcomes[0].ok());
  EXPECT_EQ(resumed.outcomes[0]->resumed_from, 6);
  EXPECT_EQ(resumed.weights, run(tiny(), 1).weights);
}

TEST_F(TrainRuns, go_on_from_the_committed_checkpoint_though_a_newer_one_is_whole) {
  TrainOptions options = saving("committed");
  EXPECT_FALSE(run(options, 2, 10).outcomes[0].ok());
  options.resume_from = options.checkpoint_dir + "/step-0000000006.ckpt";
  ASSERT_TRUE(fs::exists(options.checkpoint_dir + "/step-0000000009.ckpt"));
  const RunRecord resumed = run(options, 2);
  for (const auto& outcome : resumed.outcomes) {
    ASSERT_TRUE(outcome.ok()) << outcome.error().text();
    EXPECT_EQ(outcome->resumed_from, 6);
  }
  EXPECT_EQ(resumed.weights, run(tiny(), 2).weights);
  for (const auto& entry : fs::directory_iterator(options.checkpoint_dir)) {
    EXPECT_EQ(entry.path().extension(), ".ckpt") << entry.path() << " was set aside for good";
  }
}

TEST_F(TrainRuns, fall_back_to_the_newest_whole_one_on_every_rank_where_the_committed_is_damaged) {
  TrainOptions options = saving("committed-damaged");
  EXPECT_FALSE(run(options, 2, 10).outcomes[0].ok());
  options.resume_from = options.checkpoint_dir + "/step-0000000006.ckpt";
  std::ofstream(options.resume_from, std::ios::app) << "x";
  const RunRecord resumed = run(options, 2);
  for (const auto& outcome : resumed.outcomes) {
    ASSERT_TRUE(outcome.ok()) << outcome.error().text();
    EXPECT_EQ(outcome->resumed_from, 9);
  }
  EXPECT_EQ(resumed.weights, run(tiny(), 2).weights);
}

TEST_F(TrainRuns, name_the_committed_checkpoint_where_there_is_none_at_all) {
  TrainOptions options = saving("committed-gone");
  options.resume_from = options.checkpoint_dir + "/step-0000000006.ckpt";
  const RunRecord refused = run(options, 2);
  ASSERT_FALSE(refused.outcomes[0].ok());
  ASSERT_FALSE(refused.outcomes[1].ok());
  EXPECT_NE(refused.outcomes[0].error().message.find(options.resume_from), std::string::npos)
      << refused.outcomes[0].error().message;
}

TEST_F(TrainRuns, train_on_when_a_checkpoint_cannot_be_written) {
  const TrainOptions options = saving("unwritable");
  set_log_level(LogLevel::kOff);
  // Where the third step's file is to be made stands a folder that cannot be written over.
  fs::create_directories(options.checkpoint_dir + "/step-0000000003.ckpt" +
                         std::string(kUnfinishedSuffix) + "/taken");
  const RunRecord record = run(options, 2);
  ASSERT_TRUE(record.outcomes[0].ok()) << record.outcomes[0].error().text();
  EXPECT_EQ(record.losses.size(), 12U);
  EXPECT_FALSE(fs::exists(options.checkpoint_dir + "/step-0000000003.ckpt"));
  EXPECT_TRUE(fs::exists(options.checkpoint_dir + "/step-0000000012.ckpt"));
}

TEST_F(TrainRuns, refuse_a_checkpoint_of_another_model_on_every_rank) {
  TrainOptions options = saving("other");
  EXPECT_FALSE(run(options, 1, 4).outcomes[0].ok());
  options.width = 32;
  const RunRecord refused = run(options, 2);
  ASSERT_FALSE(refused.outcomes[0].ok());
  EXPECT_NE(refused.outcomes[0].error().message.find("width 16 (this run: 32)"),
            std::string::npos)
      << refused.outcomes[0].error().message;
  ASSERT_FALSE(refused.outcomes[1].ok());
  options.fresh = true;
  EXPECT_TRUE(run(options, 2).outcomes[0].ok());
}

TEST_F(TrainRuns, that_are_complete_resume_to_their_end_at_once) {
  const TrainOptions options = saving("complete");
  const RunRecord first = run(options, 1);
  const RunRecord again = run(options, 1);
  ASSERT_TRUE(again.outcomes[0].ok());
  EXPECT_TRUE(again.losses.empty());
  EXPECT_EQ(again.weights, first.weights);
}

TEST_F(TrainRuns, say_when_they_diverge) {
  TrainOptions options = tiny();
  options.lr = 10;
  options.clip = 0;
  options.weight_decay = 10;  // lr * decay = 100: weights grow a hundredfold a step
  options.warmup = 0;
  options.steps = 100;
  const RunRecord record = run(options, 1);
  ASSERT_FALSE(record.outcomes[0].ok());
  EXPECT_NE(record.outcomes[0].error().message.find("--lr"), std::string::npos);
}

TEST_F(TrainRuns, refuse_ranks_with_different_flags) {
  const Corpus corpus = MUST(Corpus::from_text(some_text(), TokenizerKind::kChar, 8));
  auto group = make_fake_collectives({2, seconds(60)});
  std::vector<Result<TrainOutcome>> outcomes(2, TrainOutcome{});
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      TrainOptions options = tiny();
      options.lr = rank == 0 ? 1e-3 : 2e-3;
      WorkerSession session{SessionOptions{}};
      Trainer trainer({options, corpus, *group[rank], session}, {});
      outcomes[rank] = trainer.run();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& outcome : outcomes) {
    ASSERT_FALSE(outcome.ok());
    EXPECT_NE(outcome.error().message.find("different flags"), std::string::npos);
  }
}

TEST_F(TrainRuns, stop_together_when_one_rank_is_signalled_and_save_what_they_have) {
  const TrainOptions options = saving("signal");
  const Corpus corpus = MUST(Corpus::from_text(some_text(), TokenizerKind::kChar, 8));
  auto group = make_fake_collectives({2, seconds(60)});
  std::atomic<bool> signalled{false};
  std::vector<Result<TrainOutcome>> outcomes(2, TrainOutcome{});
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      WorkerSession session{SessionOptions{}};
      TrainHooks hooks;
      if (rank == 1) hooks.signalled = &signalled;
      hooks.on_step = [&](const StepReport& report) {
        if (report.step == 4) signalled = true;
        return true;
      };
      Trainer trainer({options, corpus, *group[rank], session}, hooks);
      outcomes[rank] = trainer.run();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& outcome : outcomes) {
    ASSERT_TRUE(outcome.ok()) << outcome.error().text();
    EXPECT_EQ(outcome->end, RunEnd::kSignal);
    EXPECT_EQ(outcome->step, outcomes[0]->step);
  }
  EXPECT_TRUE(fs::exists(options.checkpoint_dir + "/step-000000000" +
                         std::to_string(outcomes[0]->step) + ".ckpt"));
  EXPECT_EQ(run(options, 2).weights, run(tiny(), 2).weights);
}

TEST_F(TrainRuns, whole_held_out_loss_does_not_depend_on_the_ranks) {
  const Corpus corpus = MUST(Corpus::from_text(some_text(), TokenizerKind::kChar, 8));
  const TrainOptions options = tiny();
  const GptShape shape = shape_of(options, corpus.tokenizer());
  const ParameterArena arena(gpt_parameters(shape), 1);
  const Gpt model(shape, arena);
  std::vector<double> losses;
  for (const int world : {1, 3}) {
    auto group = make_fake_collectives({world, seconds(60)});
    std::vector<double> mine(static_cast<size_t>(world));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < world; ++rank) {
      threads.emplace_back([&, rank] {
        const auto index = static_cast<size_t>(rank);
        mine[index] = MUST(full_loss(model, corpus, options, *group[index]));
      });
    }
    for (std::thread& thread : threads) thread.join();
    losses.push_back(mine[0]);
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-6);
  EXPECT_NEAR(losses[0], std::log(static_cast<double>(shape.vocabulary)), 0.1);
}

/// Runs keiko-train's command as a process of its own, which is what this program becomes when it
/// is started for the disabled test below. RETURNS: its pid.
pid_t start_program(const std::string& data, const std::string& checkpoints, int64_t steps) {
  const std::string steps_text = std::to_string(steps);
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("TEST_DATA", data.c_str(), 1);
    setenv("TEST_CHECKPOINTS", checkpoints.c_str(), 1);
    setenv("TEST_STEPS", steps_text.c_str(), 1);
    if (freopen("/dev/null", "w", stdout) == nullptr) _exit(98);
    execl("/proc/self/exe", "test", "--gtest_filter=TrainProgram.*",
          "--gtest_also_run_disabled_tests", nullptr);
    _exit(99);
  }
  return pid;
}

TEST(TrainProgram, DISABLED_trains) {
  const int code = run_command(
      {"gpt", "--data", getenv("TEST_DATA"), "--checkpoint-dir", getenv("TEST_CHECKPOINTS"),
       "--steps", getenv("TEST_STEPS"), "--layers", "1", "--heads", "2", "--width", "16",
       "--context", "8", "--batch", "4", "--checkpoint-every", "1"},
      {}, [](const RankEnvironment&) -> Result<std::unique_ptr<Collective>> {
        return std::move(make_fake_collectives({1, seconds(60)})[0]);
      });
  _exit(code);
}

/// Waits until the folder has a checkpoint of `least` steps or more.
void await_checkpoint(const std::string& folder, int64_t least) {
  while (true) {
    const std::vector<int64_t> steps = CheckpointStore::at(folder).steps();
    if (!steps.empty() && steps[0] >= least) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

int wait_for(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

class TrainProcess : public TrainRuns {
 protected:
  void SetUp() override {
    TrainRuns::SetUp();
    data_ = folder_ + "/text";
    std::ofstream(data_) << some_text();
  }
  std::string data_;
};

TEST_F(TrainProcess, killed_in_the_midst_of_saving_ends_in_the_same_bits) {
  constexpr int64_t kSteps = 200;
  const std::string folder = folder_ + "/killed";
  // With a checkpoint every step nearly each kill falls into the writing of one.
  for (const int64_t least : {2, 9, 17}) {
    const pid_t pid = start_program(data_, folder, kSteps);
    await_checkpoint(folder, least);
    kill(pid, SIGKILL);
    EXPECT_EQ(wait_for(pid), 1000 + SIGKILL);
  }
  const std::string whole = folder_ + "/whole";
  EXPECT_EQ(wait_for(start_program(data_, whole, kSteps)), 0);
  EXPECT_EQ(wait_for(start_program(data_, folder, kSteps)), 0);
  const auto killed = MUST(CheckpointStore::at(folder).load_newest());
  const auto smooth = MUST(CheckpointStore::at(whole).load_newest());
  EXPECT_EQ(killed->step, kSteps);
  for (const char* name : {"weights", "moment1", "moment2"}) {
    EXPECT_TRUE(killed->sections.at(name) == smooth->sections.at(name)) << name;
  }
}

TEST_F(TrainProcess, saves_and_ends_with_143_on_sigterm) {
  const std::string folder = folder_ + "/terminated";
  const pid_t pid = start_program(data_, folder, 1'000'000);
  await_checkpoint(folder, 3);
  kill(pid, SIGTERM);
  EXPECT_EQ(wait_for(pid), 128 + SIGTERM);
  EXPECT_TRUE(MUST(CheckpointStore::at(folder).load_newest()).has_value());
}

TEST_F(TrainProcess, exit_codes_tell_usage_from_failure) {
  const CollectiveOpener none = [](const RankEnvironment&) -> Result<std::unique_ptr<Collective>> {
    return deadline_exceeded("nobody there");
  };
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_command({"gpt", "--nope"}, {}, none), kExitUsage);
  EXPECT_EQ(run_command({"gpt", "--data", data_, "--batch", "1"},
                        {{"WORLD_SIZE", "2"}, {"MASTER_PORT", "1"}}, none),
            kExitUsage);
  EXPECT_EQ(run_command({"gpt", "--data", data_}, {}, none), kExitPeerLost);
  EXPECT_EQ(run_command({"sample", "--checkpoint", folder_ + "/none"}, {}, none), kExitFailed);
  const std::string words = testing::internal::GetCapturedStderr();
  EXPECT_NE(words.find("nobody there"), std::string::npos) << words;
}

}  // namespace
}  // namespace keiko::train
