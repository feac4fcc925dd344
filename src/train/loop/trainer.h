// Trainer: the loop of one rank. Each step takes this rank's share of the global batch, sums the
// gradients over all ranks during the backward pass, and moves the weights, which therefore stay
// equal bit for bit on every rank. Rank 0 writes checkpoints in the background; all ranks resume
// what it read.
//
// A notice from the agent, or a signal, on any rank ends all ranks after the same step: the request
// travels with the gradients. Runs on the thread that calls run().
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "ports/collective.h"
#include "train/checkpoint/checkpoint_writer.h"
#include "train/checkpoint/train_state.h"
#include "train/loop/reducer.h"
#include "train/options.h"
#include "train/program/worker_session.h"
#include "train/text/corpus.h"

namespace keiko::train {

/// What is known after a step; equal on all ranks but for the speed.
struct StepReport {
  int64_t step = 0;  ///< steps done
  double loss = 0;   ///< mean over the global batch, nats a token
  double learning_rate = 0;
  double gradient_norm = 0;  ///< before clipping
  double tokens_per_s = 0;   ///< of all ranks, since the last report that was printed
};

enum class RunEnd : int { kFinished, kNotice, kSignal };

struct TrainOutcome {
  RunEnd end = RunEnd::kFinished;
  int64_t step = 0;
  int64_t resumed_from = 0;
  std::optional<double> held_out_loss;  ///< over the whole tenth, with --eval-full
};

/// How a run talks to the outside. Any of them may be empty.
struct TrainHooks {
  /// After each step. RETURNS: false to drop the run there as a kill would: no checkpoint.
  std::function<bool(const StepReport&)> on_step;
  std::function<void(int64_t step)> on_resume;  ///< once, if there was a checkpoint
  std::function<void(int64_t step, double loss)> on_estimate;
  std::function<void(const WrittenCheckpoint&)> on_checkpoint;  ///< once it is durable
  /// Set by a signal handler: checkpoint and end.
  const std::atomic<bool>* signalled = nullptr;
};

/// What a run works with; all of it outlives the Trainer. `session` may belong to no agent.
struct TrainParts {
  const TrainOptions& options;
  const Corpus& corpus;
  Collective& collective;
  WorkerSession& session;
};

class Trainer {
 public:
  Trainer(const TrainParts& parts, TrainHooks hooks);
  ~Trainer();

  /// Trains to the last step, a notice or a signal.
  /// RETURNS: kUnavailable or kDeadlineExceeded when a peer was lost (another attempt resumes),
  /// other codes for what another attempt would not cure.
  Result<TrainOutcome> run();

  TrainState& state() { return state_; }
  const Gpt& model() const { return model_; }

 private:
  struct StepResult {
    StepReport report;
    bool notice = false;
    bool signal = false;
  };

  Result<TrainOutcome> train();
  Done agree_on_run();
  Done resume();
  Result<bool> read_checkpoint();
  Result<std::optional<StoredCheckpoint>> find_checkpoint(const CheckpointStore* store) const;
  Done share_state(int64_t step);
  Result<StepResult> do_step();
  Result<double> update_weights(double loss);
  Done after_step();
  void begin_checkpoint();
  Done report_checkpoints();
  Done finish_checkpoint();
  Done save_and_agree();
  Result<TrainOutcome> finish(RunEnd end);
  void report_progress(StepReport& report);

  const TrainOptions options_;
  const Corpus& corpus_;
  Collective& collective_;
  WorkerSession& session_;
  const TrainHooks hooks_;
  TrainState state_;
  Gpt model_;
  GradientReducer reducer_;
  std::optional<CheckpointWriter> writer_;  ///< rank 0's, when there is a folder
  int64_t saved_step_ = -1;                 ///< of the last checkpoint that was begun or read
  int64_t resumed_from_ = 0;
  int64_t speed_step_ = 0;
  double speed_time_ = 0;
  double sent_time_ = 0;
  double tokens_per_s_ = 0;
};

}  // namespace keiko::train
