#include "train/loop/trainer.h"

#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "base/log.h"
#include "base/prng.h"
#include "base/text.h"
#include "train/loop/evaluate.h"

namespace keiko::train {
namespace {

// How often an agent hears of progress; faster steps are left out.
constexpr double kProgressSeconds = 0.2;
// What rank 0 tells the others about the checkpoint it looked for.
constexpr int64_t kNoCheckpoint = -1;
constexpr int64_t kUnreadable = -2;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

CollectiveBuffer floats(std::span<float> values) {
  return {values.data(), values.size(), ElementType::kF32};
}

}  // namespace

Trainer::Trainer(const TrainParts& parts, TrainHooks hooks)
    : options_(parts.options),
      corpus_(parts.corpus),
      collective_(parts.collective),
      session_(parts.session),
      hooks_(std::move(hooks)),
      state_(options_, corpus_),
      model_(shape_of(options_, corpus_.tokenizer()), state_.arena()),
      reducer_(state_.arena(), collective_, kibibytes(options_.bucket_kib)) {}

Trainer::~Trainer() = default;

Result<TrainOutcome> Trainer::run() {
  Result<TrainOutcome> outcome = train();
  // A peer that is gone does not take back a checkpoint that is nearly written.
  if (writer_) writer_->wait();
  static_cast<void>(report_checkpoints());
  return outcome;
}

Result<TrainOutcome> Trainer::train() {
  TRY(agree_on_run());
  TRY(resume());
  resumed_from_ = state_.step();
  speed_step_ = state_.step();
  speed_time_ = now_seconds();
  while (state_.step() < options_.steps) {
    StepResult result = TRY(do_step());
    report_progress(result.report);
    if (hooks_.on_step && !hooks_.on_step(result.report)) {
      return Error{Code::kCancelled, "dropped after step " + std::to_string(state_.step()), {}};
    }
    if (result.notice) return finish(RunEnd::kNotice);
    if (result.signal) return finish(RunEnd::kSignal);
    const double begin = now_seconds();
    TRY(after_step());
    speed_time_ += now_seconds() - begin;  // the speed told is that of training alone
  }
  return finish(RunEnd::kFinished);
}

Done Trainer::after_step() {
  const bool last = state_.step() == options_.steps;
  if (!last && options_.checkpoint_every > 0 && state_.step() % options_.checkpoint_every == 0) {
    begin_checkpoint();
  }
  // The next one may succeed; what is lost until then is only the chance to resume here.
  static_cast<void>(report_checkpoints());
  if (options_.eval_every > 0 && state_.step() % options_.eval_every == 0) {
    const double loss = TRY(estimate_loss(model_, corpus_, options_, collective_));
    if (hooks_.on_estimate) hooks_.on_estimate(state_.step(), loss);
  }
  return done();
}

Done Trainer::agree_on_run() {
  std::array<uint64_t, 2> mine = {agreement_digest(options_).bits, corpus_.digest().bits};
  std::vector<uint64_t> all(mine.size() * static_cast<size_t>(collective_.world()));
  TRY(collective_.all_gather({mine.data(), mine.size(), ElementType::kI64}, all.data()));
  for (size_t i = mine.size(); i < all.size(); ++i) {
    if (all[i] == all[i % mine.size()]) continue;
    return failed_precondition(
        "rank " + std::to_string(i / mine.size()) + " and rank 0 were started with different " +
        (i % mine.size() == 0 ? "flags" : "text in --data") + "; all ranks need the same");
  }
  return done();
}

Result<std::optional<StoredCheckpoint>> Trainer::find_checkpoint(
    const CheckpointStore* store) const {
  if (!options_.resume_from.empty()) {
    const auto beside = std::filesystem::path(options_.resume_from).parent_path().string();
    const CheckpointStore folder = store != nullptr ? *store : CheckpointStore::at(beside);
    return std::optional(TRY(folder.load_committed(options_.resume_from)));
  }
  if (store == nullptr || options_.fresh) return std::optional<StoredCheckpoint>();
  return store->load_newest();
}

Result<bool> Trainer::read_checkpoint() {
  std::optional<CheckpointStore> store;
  if (!options_.checkpoint_dir.empty()) {
    store = TRY(CheckpointStore::open(options_.checkpoint_dir, options_.keep));
  }
  const auto found = TRY(find_checkpoint(store ? &*store : nullptr));
  if (found) TRY(state_.restore(*found, collective_.world()));
  if (store) {
    TRY(store->set_aside_after(state_.step()));
    writer_.emplace(*store, [this](int64_t step, const std::string& path) {
      session_.checkpoint(step, path);
    });
  }
  return found.has_value();
}

Done Trainer::resume() {
  Result<bool> found = collective_.rank() == 0 ? read_checkpoint() : false;
  // The others must not wait for a rank 0 that has given up: they hear of it here.
  int64_t told = kNoCheckpoint;
  if (!found.ok()) told = kUnreadable;
  else if (*found) told = state_.step();
  TRY(collective_.broadcast({&told, 1, ElementType::kI64}, 0));
  if (!found.ok()) return found.error();
  if (told == kUnreadable) {
    return failed_precondition("rank 0 could not read its checkpoint; its log says why");
  }
  if (told == kNoCheckpoint) return done();
  saved_step_ = told;
  TRY(share_state(told));
  if (hooks_.on_resume) hooks_.on_resume(told);
  return done();
}

Done Trainer::share_state(int64_t step) {
  TRY(collective_.broadcast(floats(state_.arena().weights()), 0));
  TRY(collective_.broadcast(floats(state_.optimizer().first_moment()), 0));
  TRY(collective_.broadcast(floats(state_.optimizer().second_moment()), 0));
  state_.set_step(step);
  return done();
}

Result<Trainer::StepResult> Trainer::do_step() {
  const int64_t step = state_.step();
  const int rank = collective_.rank();
  const int64_t first = shard_begin(options_.batch, collective_.world(), rank);
  const int64_t last = shard_begin(options_.batch, collective_.world(), rank + 1);
  const TokenBatch batch =
      make_batch(corpus_.train(), {static_cast<uint64_t>(options_.seed), step, first, last},
                 options_.context);
  state_.arena().clear_gradients();
  reducer_.begin_step();
  double loss = 0;
  {
    const Bf16Scope scope(options_.dtype == "bf16");
    const DropoutKey dropout{
        options_.dropout,
        splitmix64(stream_key(options_.seed, step) + static_cast<uint64_t>(first))};
    const at::Tensor sum = model_.loss_sum(batch.tokens, batch.targets, dropout);
    // Dividing by the tokens of the global batch weighs uneven shares rightly.
    const double tokens = static_cast<double>(options_.batch * options_.context);
    const at::Tensor mean = sum / tokens;
    mean.backward();
    loss = mean.item<double>();
  }
  const bool noticed = session_.notice().has_value();
  const bool signalled = hooks_.signalled != nullptr && hooks_.signalled->load();
  std::array<double, 4> sums = {loss, noticed ? 1.0 : 0.0, signalled ? 1.0 : 0.0,
                                static_cast<double>(step)};
  TRY(reducer_.finish_step(sums));
  if (sums[3] != static_cast<double>(step) * collective_.world()) {
    return internal_error("the ranks are at different steps; this one is at " +
                          std::to_string(step));
  }
  StepResult result;
  result.notice = sums[1] > 0;
  result.signal = sums[2] > 0;
  result.report.learning_rate = learning_rate(options_, step);
  result.report.loss = sums[0];
  result.report.gradient_norm = TRY(update_weights(sums[0]));
  result.report.step = state_.step();
  return result;
}

Result<double> Trainer::update_weights(double loss) {
  const std::span<float> gradients = state_.arena().gradients();
  const double norm = global_norm(gradients);
  if (!std::isfinite(loss) || !std::isfinite(norm)) {
    return Error{Code::kOutOfRange,
                 "loss " + std::to_string(loss) + " and gradient norm " + std::to_string(norm) +
                     " after step " + std::to_string(state_.step()) +
                     ": the run has diverged; try a lower --lr or a longer --warmup",
                 {}};
  }
  const bool clips = options_.clip > 0 && norm > options_.clip;
  state_.optimizer().step(state_.arena().weights(), gradients,
                          {clips ? options_.clip / norm : 1.0,
                           learning_rate(options_, state_.step()), state_.step() + 1});
  state_.set_step(state_.step() + 1);
  return norm;
}

void Trainer::report_progress(StepReport& report) {
  const double now = now_seconds();
  const bool last = report.step == options_.steps;
  const bool printed = report.step % options_.log_every == 0 || last;
  const int64_t step_tokens = options_.batch * options_.context;
  if (now > speed_time_) {
    tokens_per_s_ = static_cast<double>((report.step - speed_step_) * step_tokens) /
                    (now - speed_time_);
  }
  report.tokens_per_s = tokens_per_s_;
  if (printed) {
    speed_step_ = report.step;
    speed_time_ = now;
  }
  if (!last && now - sent_time_ < kProgressSeconds) return;
  sent_time_ = now;
  session_.progress({report.step, options_.steps, report.loss, report.step * options_.batch,
                     report.step * step_tokens, report.tokens_per_s});
}

void Trainer::begin_checkpoint() {
  if (!writer_ || saved_step_ == state_.step()) return;
  saved_step_ = state_.step();
  writer_->begin(saved_step_, [this](CheckpointImage& image) {
    state_.copy_to(image, collective_.world());
  });
}

/// Tells what was written since the last call. RETURNS: the error of the last that was not.
Done Trainer::report_checkpoints() {
  if (!writer_) return done();
  Done last = done();
  for (const WrittenCheckpoint& written : writer_->take_written()) {
    if (written.path.ok()) {
      if (hooks_.on_checkpoint) hooks_.on_checkpoint(written);
      continue;
    }
    last = written.path.error();
    log_error("checkpoint_failed", "step=" + std::to_string(written.step) + " reason=" +
                                       quote_text(written.path.error().text()));
    if (saved_step_ == written.step) saved_step_ = -1;
  }
  return last;
}

Done Trainer::finish_checkpoint() {
  if (!writer_) return done();
  writer_->wait();
  // If it was the checkpoint of this very step that failed, it gets a second chance.
  static_cast<void>(report_checkpoints());
  begin_checkpoint();
  writer_->wait();
  return report_checkpoints();
}

Done Trainer::save_and_agree() {
  const Done saved = finish_checkpoint();
  // Nobody leaves before the checkpoint is durable, nor believes in one that failed.
  double failures = saved.ok() ? 0 : 1;
  TRY(collective_.all_reduce({&failures, 1, ElementType::kF64}, ReduceOp::kSum));
  if (!saved.ok()) return saved;
  if (failures > 0) return data_loss("rank 0 could not write the last checkpoint");
  return done();
}

Result<TrainOutcome> Trainer::finish(RunEnd end) {
  TRY(save_and_agree());
  TrainOutcome outcome;
  outcome.end = end;
  outcome.step = state_.step();
  outcome.resumed_from = resumed_from_;
  if (end == RunEnd::kNotice) {
    if (const auto notice = session_.notice()) session_.ack(notice->id);
  }
  if (end == RunEnd::kFinished && options_.eval_full) {
    outcome.held_out_loss = TRY(full_loss(model_, corpus_, options_, collective_));
  }
  return outcome;
}

}  // namespace keiko::train
