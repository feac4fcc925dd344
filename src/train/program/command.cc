#include "train/program/command.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <thread>

#include "base/id.h"
#include "base/log.h"
#include "base/text.h"
#include "train/compat.h"
#include "train/flags.h"
#include "train/loop/trainer.h"
#include "train/model/generate.h"
#include "train/program/progress.h"

namespace keiko::train {
namespace {

std::atomic<bool> g_signalled{false};
std::atomic<int> g_signal{0};

void on_signal(int number) {
  // A second one means it: the checkpoint is not waited for.
  if (g_signalled.exchange(true)) _exit(kExitSignal + number);
  g_signal = number;
}

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

int fail_with(const Error& error, int exit_code) {
  std::fflush(stdout);
  std::fputs(("keiko-train: " + error.message + "\n").c_str(), stderr);
  return exit_code;
}

/// A peer that is gone is the agent's business; the rest is the user's.
int exit_code_of(const Error& error) {
  const bool peer = error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded ||
                    error.code == Code::kAborted;
  if (peer) return kExitPeerLost;
  return error.code == Code::kInvalidArgument ? kExitUsage : kExitFailed;
}

Result<Corpus> load_corpus(const TrainOptions& options) {
  const std::string text = TRY(read_text(options.data));
  const auto kind = options.tokenizer == "byte" ? TokenizerKind::kByte : TokenizerKind::kChar;
  return Corpus::from_text(text, kind, options.context);
}

std::string opening_line(Trainer& trainer, const TrainOptions& options, const Corpus& corpus,
                         int world) {
  const auto count = static_cast<double>(trainer.state().arena().parameter_count());
  std::array<char, 256> text;
  std::snprintf(text.data(), text.size(),
                "gpt: %.2fM parameters, vocabulary %lld, %zu tokens to train on, %zu held out, "
                "global batch %lld x %lld on %d rank%s, %s",
                count / 1e6, static_cast<long long>(corpus.tokenizer().vocabulary_size()),
                corpus.train().size(), corpus.held_out().size(),
                static_cast<long long>(options.batch), static_cast<long long>(options.context),
                world, world == 1 ? "" : "s", options.dtype.c_str());
  return text.data();
}

TrainHooks hooks_for(ProgressPrinter& printer) {
  TrainHooks hooks;
  hooks.signalled = &g_signalled;
  hooks.on_step = [&printer](const StepReport& report) {
    printer.step(report);
    return true;
  };
  hooks.on_resume = [&printer](int64_t step) {
    printer.line("resumed from the checkpoint of step " + std::to_string(step));
  };
  hooks.on_estimate = [&printer](int64_t step, double loss) { printer.estimate(step, loss); };
  hooks.on_checkpoint = [&printer](const WrittenCheckpoint& written) {
    printer.checkpoint(written);
  };
  return hooks;
}

Done print_end(const TrainOutcome& outcome, const TrainParts& parts, const Trainer& trainer,
               ProgressPrinter& printer) {
  const TrainOptions& options = parts.options;
  if (outcome.held_out_loss) {
    printer.line("held-out loss " + std::to_string(*outcome.held_out_loss) +
                 " (the whole last tenth)");
  }
  if (outcome.end != RunEnd::kFinished) {
    printer.line("stopped after step " + std::to_string(outcome.step) + ", on request");
    return done();
  }
  printer.line("trained " + std::to_string(outcome.step) + " steps");
  if (options.sample <= 0) return done();
  printer.line("--- sample ---\n" +
               TRY(generate_text(trainer.model(), parts.corpus.tokenizer(),
                                 {options.sample, options.prompt, options.temperature,
                                  static_cast<uint64_t>(options.seed)})));
  return done();
}

/// Trains as one rank. RETURNS: how it ended, or the error that decides the exit code.
Result<RunEnd> train_gpt(TrainOptions options, const RankEnvironment& environment,
                         const CollectiveOpener& open_collective) {
  if (options.checkpoint_dir.empty()) options.checkpoint_dir = environment.checkpoint_dir;
  if (options.resume_from.empty()) options.resume_from = environment.resume_from;
  TRY(validate(options, environment.world));
  WorkerSession session(
      {environment.socket_path, environment.job, environment.rank, environment.attempt});
  // Ranks find each other while the text is read.
  Result<std::unique_ptr<Collective>> collective = unavailable("not connected");
  std::thread connecting([&] { collective = open_collective(environment); });
  Result<Corpus> corpus = load_corpus(options);
  connecting.join();
  if (!corpus.ok()) return corpus.error();
  if (!collective.ok()) return collective.error();

  ProgressPrinter printer(options, environment.rank != 0, isatty(STDOUT_FILENO) == 1);
  const TrainParts parts{options, *corpus, **collective, session};
  Trainer trainer(parts, hooks_for(printer));
  printer.line(opening_line(trainer, options, *corpus, environment.world));
  const auto outcome = trainer.run();
  if (!outcome.ok()) {
    // The others may wait for a rank that is still well; tell them before we go.
    (*collective)->abort(outcome.error().message);
    session.flush(milliseconds(100));
    return outcome.error();
  }
  if (environment.rank == 0) TRY(print_end(*outcome, parts, trainer, printer));
  if (!session.flush(seconds(2))) log_warn("agent_not_told", "reason=" + quote_text("no answer"));
  return outcome->end;
}

Done print_sample(const CommandLine& line) {
  const RestoredModel restored = TRY(restore_model(line.checkpoint));
  const Gpt model(restored.shape, *restored.arena);
  const TrainOptions& options = line.options;
  const std::string text =
      TRY(generate_text(model, restored.tokenizer,
                        {line.tokens, options.prompt, options.temperature,
                         static_cast<uint64_t>(options.seed)}));
  std::puts(text.c_str());
  return done();
}

struct NumberRange {
  int fallback;  ///< where the variable is not set
  int least;
  int most;
};

Result<int> read_number(const std::map<std::string, std::string>& variables, const char* name,
                        const NumberRange& range) {
  const auto found = variables.find(name);
  if (found == variables.end() || found->second.empty()) return range.fallback;
  uint64_t number = 0;
  if (parse_digits(found->second, number) && number >= static_cast<uint64_t>(range.least) &&
      number <= static_cast<uint64_t>(range.most)) {
    return static_cast<int>(number);
  }
  return invalid_argument("the variable " + std::string(name) + " is " +
                          quote_text(found->second) + "; expected a whole number from " +
                          std::to_string(range.least) + " to " + std::to_string(range.most));
}

std::string read_word(const std::map<std::string, std::string>& variables, const char* name,
                      const char* fallback) {
  const auto found = variables.find(name);
  return found == variables.end() || found->second.empty() ? fallback : found->second;
}

}  // namespace

Result<RankEnvironment> read_environment(const std::map<std::string, std::string>& variables) {
  RankEnvironment environment;
  environment.world = TRY(read_number(variables, "WORLD_SIZE", {1, 1, 1'000'000}));
  environment.rank = TRY(read_number(variables, "RANK", {0, 0, environment.world - 1}));
  environment.master_addr = read_word(variables, "MASTER_ADDR", "127.0.0.1");
  environment.master_port = TRY(read_number(variables, "MASTER_PORT", {0, 1, 65535}));
  // Under plain torchrun its own run id and restart count tell generations apart.
  const std::string run_id = read_word(variables, "TORCHELASTIC_RUN_ID", "");
  environment.job = read_word(variables, "KEIKO_JOB_ID", run_id.c_str());
  constexpr int kMostAttempts = 1'000'000'000;
  const int restarts =
      TRY(read_number(variables, "TORCHELASTIC_RESTART_COUNT", {0, 0, kMostAttempts}));
  environment.attempt =
      TRY(read_number(variables, "KEIKO_ATTEMPT", {restarts + 1, 0, kMostAttempts}));
  environment.socket_path = read_word(variables, "KEIKO_SOCKET", "");
  environment.checkpoint_dir = read_word(variables, "KEIKO_CHECKPOINT_DIR", "");
  environment.resume_from = read_word(variables, "KEIKO_RESUME_FROM", "");
  if (environment.world > 1 && environment.master_port == 0) {
    return invalid_argument("WORLD_SIZE is " + std::to_string(environment.world) +
                            " but MASTER_PORT is not set: all ranks need rank 0's port");
  }
  return environment;
}

int run_command(const std::vector<std::string>& arguments,
                const std::map<std::string, std::string>& variables,
                const CollectiveOpener& open_collective) {
  const auto line = parse_command_line(arguments);
  if (!line.ok()) return fail_with(line.error(), kExitUsage);
  if (line->verb == Verb::kHelp) {
    std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  if (line->verb == Verb::kVersion) {
    std::printf("keiko-train with libtorch %s\n", torch_version());
    return 0;
  }
  const auto environment = read_environment(variables);
  if (!environment.ok()) return fail_with(environment.error(), kExitUsage);
  use_one_thread();
  try {
    if (line->verb == Verb::kSample) {
      const Done printed = print_sample(*line);
      return printed.ok() ? 0 : fail_with(printed.error(), exit_code_of(printed.error()));
    }
    catch_signals();
    const auto end = train_gpt(line->options, *environment, open_collective);
    if (!end.ok()) return fail_with(end.error(), exit_code_of(end.error()));
    return *end == RunEnd::kSignal ? kExitSignal + (g_signal != 0 ? g_signal.load() : SIGTERM) : 0;
  } catch (const std::exception& exception) {
    // libtorch throws, of memory that is not there for example; nothing above can go on.
    return fail_with(internal_error(exception.what()), kExitFailed);
  }
}

}  // namespace keiko::train
