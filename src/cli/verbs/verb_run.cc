// keiko run: submit, follow, and end as the job ends.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "cli/exit_code.h"
#include "cli/logs/log_follow.h"
#include "cli/verbs.h"
#include "cli/verbs/job_request.h"
#include "cli/verbs/job_watch.h"

namespace keiko::cli {
namespace {

struct Given {
  std::string file;
  JobFlags flags;
  bool detach = false;
  bool live = false;
  bool quiet = false;
};

/// Text of two threads, whole pieces at a time.
class SharedConsole {
 public:
  explicit SharedConsole(const Console& console) : console_(console) {
    console_.out = [this, &console](std::string_view text) {
      const std::lock_guard lock(mutex_);
      console.out(text);
    };
    console_.err = [this, &console](std::string_view text) {
      const std::lock_guard lock(mutex_);
      console.err(text);
    };
  }
  const Console& get() const { return console_; }

 private:
  std::mutex mutex_;
  Console console_;
};

/// The thread that prints the job's output beside the one that watches its status.
class LogThread {
 public:
  LogThread(Client& client, const std::string& job, int32_t workers, const Console& console)
      : printer_({.prefix = workers > 1}, console, print_to(console)) {
    request_.set_job(job);
    request_.set_rank(-1);
    request_.set_follow(true);
    thread_ = std::jthread([this, &client](std::stop_token stop) { follow(client, stop); });
  }

  bool ended() const { return ended_.load(); }

  void stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    printer_.flush();
  }

 private:
  void follow(Client& client, std::stop_token stop) {
    FollowOptions options;
    options.stop = stop;
    options.wait_to_retry = [&stop] {
      std::mutex mutex;
      std::condition_variable_any changed;
      std::unique_lock lock(mutex);
      changed.wait_for(lock, stop, std::chrono::milliseconds(500), [] { return false; });
      return !stop.stop_requested();
    };
    // Why output is missing shows in the job's status; the watching thread says it.
    [[maybe_unused]] const Done followed = follow_logs(client, request_, printer_, options);
    ended_ = true;
  }

  v1::ReadLogsRequest request_;
  LogPrinter printer_;
  std::atomic<bool> ended_{false};
  std::jthread thread_;
};

/// Says on standard error what changed about the job, one line a change.
class StatusTeller {
 public:
  StatusTeller(const Console& console, bool quiet) : console_(console), quiet_(quiet) {}

  void tell(const v1::Job& job) {
    const std::string status = job.status() + " " + job.reason() + std::to_string(job.attempt());
    if (status == told_) return;
    told_ = status;
    // How it ended is said once, by end_of_watch().
    const bool ended =
        job.status() == "COMPLETED" || job.status() == "FAILED" || job.status() == "CANCELLED";
    if (quiet_ || ended) return;
    std::string line = job.id() + " " + job.status();
    if (!job.reason().empty()) line += " (" + job.reason() + ")";
    if (!job.message().empty()) line += ": " + job.message();
    console_.hint(console_.paint(Colour::kDim, "keiko: " + printable(line)));
  }

 private:
  const Console& console_;
  const bool quiet_;
  std::string told_;
};

Result<int> follow_with_logs(Client& client, const std::string& job, const JobSpec& spec,
                             bool quiet, const Console& console) {
  SharedConsole shared(console);
  LogThread logs(client, job, spec.workers, shared.get());
  StatusTeller teller(shared.get(), quiet);
  WatchOptions options;
  options.on_job = [&teller](const v1::Job& now) { teller.tell(now); };
  options.on_notice = [&shared](const std::string& text) { shared.get().hint("keiko: " + text); };
  options.cancel_at_interrupt = true;
  // A job that is over has all its output on the way: the log stream ends by itself, soon.
  options.may_end = [&logs] { return logs.ended(); };
  const Result<WatchEnd> end = watch_job(client, job, options, shared.get());
  logs.stop();
  if (!end.ok()) return end.error();
  return end_of_watch(*end, shared.get());
}

Result<int> run(const Given& given, Invocation& call) {
  const JobSpec spec = TRY(make_job(given.file, given.flags, call));
  Client* const client = TRY(call.connection.client());
  catch_interrupts();
  const v1::SubmitJobResponse response = TRY(submit_job(*client, spec));
  if (given.detach) {
    call.console.line(response.job());
    return kExitOk;
  }
  if (given.live)
    return watch_live(*client, response.job(), /*cancel_at_interrupt=*/true, call.console);
  return follow_with_logs(*client, response.job(), spec, given.quiet, call.console);
}

}  // namespace

Verb verb_run() {
  Verb verb;
  verb.name = "run";
  verb.group = "Jobs";
  verb.summary = "Submit a job, show its output, end with its exit code";
  verb.about =
      "Output of several workers has the rank in front of each line. Ctrl-C asks the server to "
      "cancel the job and waits for its end; a second Ctrl-C leaves at once. The exit status is "
      "the job's own (128 + signal if a signal ended it), 130 if it was cancelled. If the "
      "server goes away, the workers run on until their node's lease ends (10 s); `run` waits for "
      "the server to come back, which starts the job again where that is needed.";
  verb.examples = {"keiko run -- python3 train.py", "keiko run --workers 4 --devices 1 job.yaml",
                   "keiko run --live --workers 2 --kind train -- keiko-train gpt"};
  verb.takes_command = true;
  verb.add_options = [](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    Option& file = options.positional("FILE", given->file, "a job file; '-' reads standard input");
    file.required = false;
    file.completes = Completes::kFile;
    options.flag("-d,--detach", given->detach, "print the job's id and come back at once");
    options.flag("--live", given->live, "a live picture of the job instead of its output");
    options.flag("-q,--quiet", given->quiet, "only the job's output, nothing about its status");
    given->flags.add_to(options);
    return [given](Invocation& call) { return run(*given, call); };
  };
  return verb;
}

}  // namespace keiko::cli
