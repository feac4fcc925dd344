#include "cli/verbs/job_watch.h"

#include "cli/exit_code.h"
#include "cli/show/live_screen.h"
#include "cli/show/live_view.h"

namespace keiko::cli {
namespace {

bool is_passing(Code code) { return code == Code::kUnavailable || code == Code::kDeadlineExceeded; }

bool is_final_word(const std::string& status) {
  return status == "COMPLETED" || status == "FAILED" || status == "CANCELLED";
}

class JobWatch {
 public:
  JobWatch(Client& client, const std::string& job, const WatchOptions& options,
           const Console& console)
      : client_(client), options_(options), console_(console) {
    request_.set_job(job);
  }

  Result<WatchEnd> watch() {
    while (true) {
      TRY(ask());
      if (is_final_word(end_.job.status()) &&
          (options_.may_end() || waited_ >= options_.patience)) {
        return std::move(end_);
      }
      if (is_final_word(end_.job.status())) waited_ = waited_ + kJobPeriod;
      if (leaves(console_.wait(kJobPeriod))) return std::move(end_);
    }
  }

 private:
  Done ask() {
    Result<v1::Job> job = client_.get_job(request_);
    if (job.ok()) {
      if (away_) notice("the server is back");
      away_ = false;
      end_.job = std::move(*job);
      if (options_.on_job) options_.on_job(end_.job);
      return done();
    }
    if (!is_passing(job.error().code)) return std::move(job).error();
    if (!away_) notice(job.error().message + "; the job runs on, waiting for the server");
    away_ = true;
    return done();
  }

  /// `presses`: of Ctrl-C so far. RETURNS: whether the user leaves.
  bool leaves(int presses) {
    if (presses == 0) return false;
    if (!options_.cancel_at_interrupt || presses > 1) {
      end_.detached = true;
      return true;
    }
    if (end_.cancelling) return false;
    v1::ActOnJobRequest cancel;
    cancel.set_job(request_.job());
    cancel.set_action("cancel");
    cancel.set_why("Ctrl-C in keiko run");
    const Result<v1::ActOnJobResponse> response = client_.act_on_job(cancel);
    end_.cancelling = response.ok() || !is_passing(response.error().code);
    const std::string how = response.ok() ? "asked the server to cancel " + request_.job()
                                          : "cannot cancel: " + response.error().message;
    notice(how + "; Ctrl-C again leaves at once");
    return false;
  }

  void notice(const std::string& text) const {
    if (options_.on_notice) options_.on_notice(printable(text));
  }

  Client& client_;
  const WatchOptions& options_;
  const Console& console_;
  v1::GetJobRequest request_;
  WatchEnd end_;
  Duration waited_;
  bool away_ = false;
};

}  // namespace

Result<WatchEnd> watch_job(Client& client, const std::string& job, const WatchOptions& options,
                           const Console& console) {
  return JobWatch(client, job, options, console).watch();
}

int end_of_watch(const WatchEnd& end, const Console& console) {
  const std::string& id = end.job.id();
  if (end.detached) {
    const std::string state = end.cancelling ? " is being cancelled" : " runs on";
    console.hint("keiko: left " + id + ", which" + state + "; see: keiko job " + id);
    return kExitCancelled;
  }
  if (end.job.status() == "FAILED") {
    console.hint(
        console.paint(Colour::kRed, "keiko: " + id + " failed: " + printable(end.job.message())) +
        "\nkeiko: see: keiko job " + id);
  } else if (end.job.status() == "CANCELLED") {
    console.hint("keiko: " + id + " was cancelled");
  }
  return exit_code_of_job(end.job.status(), end.job.exit_code());
}

Result<int> watch_live(Client& client, const std::string& job, bool cancel_at_interrupt,
                       const Console& console) {
  catch_interrupts();
  LiveView view;
  LiveScreen screen(console);
  WatchOptions options;
  options.cancel_at_interrupt = cancel_at_interrupt;
  options.on_job = [&](const v1::Job& now) {
    view.update(now, console.now());
    if (console.terminal) screen.draw(view.lines(console));
    else if (const std::string news = view.news(); !news.empty()) console.out(news);
  };
  options.on_notice = [&](const std::string& text) {
    view.set_notice(text == "the server is back" ? "" : text);
    if (console.terminal) screen.draw(view.lines(console));
    else console.hint("keiko: " + text);
  };
  const Result<WatchEnd> end = watch_job(client, job, options, console);
  screen.close();
  if (!end.ok()) return end.error();
  return end_of_watch(*end, console);
}

}  // namespace keiko::cli
