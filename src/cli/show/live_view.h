// LiveView: one job as it runs. Fed with what the server says of it a few times a second, it keeps
// the loss curve and draws everything as lines: state, progress, curve, who runs where, what
// happened last. For `keiko watch`, `keiko run --live` and the demo.
//
// On a terminal the lines go to a LiveScreen. Elsewhere news() gives plain lines to append.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/show/chart.h"
#include "keiko/v1/job.pb.h"

namespace keiko::cli {

class LiveView {
 public:
  /// Takes in the job as it is at `now`.
  void update(const v1::Job& job, Time now);

  /// Puts a sentence above the view that is not the job's own ("cannot reach the server").
  void set_notice(const std::string& notice) { notice_ = notice; }

  /// RETURNS: the whole picture for a terminal of this size.
  std::vector<std::string> lines(const Console& console) const;

  /// RETURNS: plain lines, each ended, on what changed since the last call: states, events, and
  /// progress every kNewsPeriod.
  std::string news();

  bool ended() const;
  const v1::Job& job() const { return job_; }

  static constexpr Duration kNewsPeriod = seconds(5);

 private:
  std::string head_line(const Console& console) const;
  std::string progress_line(const Console& console) const;
  std::string figures_line(const Console& console) const;
  void add_workers(const Console& console, size_t room, std::vector<std::string>& out) const;
  void add_timeline(const Console& console, size_t room, std::vector<std::string>& out) const;
  Duration run_time() const;
  std::string time_left() const;

  v1::Job job_;
  Time now_;
  std::string notice_;
  std::vector<Point> losses_;
  std::vector<double> speeds_;    ///< tokens/s, one for each new step seen
  int64_t first_step_ = -1;       ///< of this attempt, with its time: for the time that is left
  Time first_step_at_;
  int32_t attempt_ = 0;

  std::string told_status_;
  int told_entries_ = 0;
  int64_t told_step_ = -1;
  Time told_at_;
};

}  // namespace keiko::cli
