#include "cli/attach/copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "base/text.h"
#include "cli/exit_code.h"
#include "drivers/files/tree/pack.h"
#include "drivers/files/tree/record.h"
#include "drivers/files/tree/unpack.h"
#include "posix/fd.h"

namespace keiko::cli {
namespace {

using Steady = std::chrono::steady_clock;
constexpr auto kDrawEvery = std::chrono::milliseconds(200);
constexpr int kBarColumns = 30;
constexpr size_t kMostTold = 16 * 1024;  // of what the worker's side has to say
constexpr double kMega = 1e6;

struct Pipe {
  Fd read_end, write_end;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return unavailable("cannot make a pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

/// One line that is drawn again and again. For one thread.
class ProgressBar {
 public:
  ProgressBar(const Console& console, bool wanted) : console_(console), wanted_(wanted) {}
  ~ProgressBar() {
    if (drawn_) console_.err("\n");
  }

  void show(int64_t done, int64_t total) {
    if (!wanted_) return;
    const Steady::time_point now = Steady::now();
    if (done < total && now < next_) return;
    next_ = now + kDrawEvery;
    drawn_ = true;
    const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
    const int full = share < 1 ? static_cast<int>(share * kBarColumns) : kBarColumns;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    char text[160];
    std::snprintf(text, sizeof text, "\r[%s%s] %3d %%  %.1f of %.1f MB  %.1f MB/s\033[K",
                  std::string(static_cast<size_t>(full), '#').c_str(),
                  std::string(static_cast<size_t>(kBarColumns - full), ' ').c_str(),
                  static_cast<int>(share * 100), static_cast<double>(done) / kMega,
                  static_cast<double>(total) / kMega,
                  seconds > 0 ? static_cast<double>(done) / kMega / seconds : 0);
    console_.err(text);
  }

 private:
  const Console& console_;
  const bool wanted_;
  const Steady::time_point start_ = Steady::now();
  Steady::time_point next_{};
  bool drawn_ = false;
};

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = read(fd, buffer, sizeof buffer)) > 0) {
    if (text.size() < kMostTold) text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

/// The packer or unpacker of this side.
Result<int64_t> work(const CopyOrder& order, int stream, const Console& console) {
  ProgressBar bar(console, order.progress);
  const auto progress = [&](int64_t done, int64_t total) { bar.show(done, total); };
  if (!order.into_worker) {
    return tree::unpack({order.local, tree::last_name(order.remote), progress}, stream);
  }
  const auto left_out = [&](const std::string& line) { console.hint("keiko cp: " + line); };
  return tree::pack({order.local, order.recursive, progress, left_out}, stream);
}

struct Sides {
  Result<int64_t> here;    ///< entries left out
  Result<int> there;       ///< how the call ended
  std::string told;        ///< by the worker's side
};

Result<Sides> run_both(const CopyOrder& order, const SignalStream& signals,
                       const Console& console) {
  Pipe stream = TRY(make_pipe());
  Pipe words = TRY(make_pipe());
  const bool up = order.into_worker;
  AttachEnds ends{up ? stream.read_end.get() : -1, up ? -1 : stream.write_end.get(),
                  words.write_end.get()};
  ends.signals = &signals;
  ends.signals_leave = true;
  v1::AttachOpen open = order.worker;
  open.mutable_copy()->set_path(order.remote);
  open.mutable_copy()->set_into_worker(up);
  open.mutable_copy()->set_recursive(order.recursive);
  const std::unique_ptr<AttachCall> call = dial_client_attach(order.server);
  AttachClient client(*call, ends);
  Sides sides{0, 0, {}};
  std::thread worker([&] {
    Fd& mine = up ? stream.write_end : stream.read_end;
    sides.here = work(order, mine.get(), console);
    // A packer that failed has told so in the stream; an unpacker's end must be felt.
    const Fd closed = std::move(mine);
  });
  std::thread listener([&] { sides.told = read_all(words.read_end.get()); });
  sides.there = client.run(open);
  {
    const Fd closed = std::move(up ? stream.read_end : stream.write_end);
    const Fd silent = std::move(words.write_end);
  }
  worker.join();
  listener.join();
  return sides;
}

}  // namespace

bool split_remote(const std::string& text, std::string& job, std::string& path) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || text.find('/') < colon) return false;
  job = text.substr(0, colon);
  path = colon + 1 == text.size() ? "." : text.substr(colon + 1);
  return true;
}

Result<int> copy_files(const CopyOrder& order, const SignalStream& signals,
                       const Console& console) {
  const Sides sides = TRY(run_both(order, signals, console));
  const std::string told(trim(sides.told));
  const bool whole_there = sides.there.ok() && *sides.there == 0;
  // Our own side failing makes the call end too; which of the two was first is told by its kind.
  if (!sides.here.ok() && sides.here.error().code != Code::kUnavailable) {
    return Error{sides.here.error().code, printable(sides.here.error().message), {}};
  }
  if (!sides.there.ok()) {
    if (sides.there.error().code != Code::kCancelled) return sides.there.error();
    return Error{Code::kCancelled, "left; what was not whole is not there", {}};
  }
  if (!whole_there) {
    if (told.empty()) return failed_precondition("the copy broke off in the worker");
    const bool missing = *sides.there == tree::kMissingExit;
    return Error{missing ? Code::kNotFound : Code::kFailedPrecondition, printable(told), {}};
  }
  if (!sides.here.ok()) return sides.here.error();
  for (const std::string& line : split(told, '\n')) {
    if (!line.empty()) console.hint("keiko cp: " + printable(line));
  }
  return *sides.here == 0 ? kExitOk : kExitFailure;
}

}  // namespace keiko::cli
