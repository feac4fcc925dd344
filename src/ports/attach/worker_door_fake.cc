#include "ports/attach/worker_door_fake.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "base/check.h"
#include "posix/fd.h"

namespace keiko {
namespace {

/// RETURNS: whether `fd` is ready for `events`; false if a signal came first.
bool wait_for(const FakeCommand& command, int fd, short events) {
  pollfd waits[2] = {{fd, events, 0}, {command.signals, POLLIN, 0}};
  while (poll(waits, 2, -1) < 0) continue;
  return waits[1].revents == 0;
}

VisitEnd ended(int exit_code) {
  VisitEnd end;
  end.exit_code = exit_code;
  end.error.code = Code::kOk;
  return end;
}

VisitEnd says(const FakeCommand& command) {
  fake_write(command, command.out, "out\n");
  fake_write(command, command.err, "err\n");
  return ended(7);
}

VisitEnd echoes(const FakeCommand& command) {
  while (const std::optional<std::string> text = fake_read(command)) {
    if (text->empty()) return ended(0);
    if (!fake_write(command, command.out, *text)) break;
  }
  return fake_death(command);
}

VisitEnd waits(const FakeCommand& command) {
  fake_write(command, command.out, "ready\n");
  return fake_death(command);
}

struct Pair {
  Fd ours, theirs;
};

/// RETURNS: what `theirs` writes `ours` reads, with `both` the other way, too.
Pair make_pair(bool both) {
  int ends[2];
  const int made = both ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends)
                        : pipe2(ends, O_CLOEXEC | O_NONBLOCK);
  CHECK(made == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

std::optional<std::string> fake_read(const FakeCommand& command) {
  char buffer[4096];
  while (wait_for(command, command.in, POLLIN)) {
    const ssize_t got = read(command.in, buffer, sizeof buffer);
    if (got >= 0) return std::string(buffer, static_cast<size_t>(got));
  }
  return std::nullopt;
}

bool fake_write(const FakeCommand& command, int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    if (!wait_for(command, fd, POLLOUT)) return false;
    const ssize_t put = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    const ssize_t took = put < 0 && errno == ENOTSOCK ? write(fd, bytes.data(), bytes.size()) : put;
    if (took < 0 && errno != EAGAIN) return true;  // nobody reads it any more
    if (took > 0) bytes.remove_prefix(static_cast<size_t>(took));
  }
  return true;
}

VisitEnd fake_death(const FakeCommand& command) {
  pollfd wait{command.signals, POLLIN, 0};
  while (poll(&wait, 1, -1) < 0) continue;
  unsigned char number = SIGKILL;
  [[maybe_unused]] const ssize_t got = read(command.signals, &number, 1);
  VisitEnd end = ended(0);
  end.signal = number;
  return end;
}

class FakeVisit : public Visit {
 public:
  FakeVisit(FakeWorkerDoor& door, WorkerKey key) : worker(key), door_(door) {}
  ~FakeVisit() override {
    {
      const std::lock_guard lock(door_.mutex_);
      std::erase(door_.visits_, this);
    }
    signal(SIGKILL);
    if (thread_.joinable()) thread_.join();
  }

  /// A command with its streams; with `both` one for all of them.
  void start(FakeProgram program, VisitOrder order, bool both) {
    order_ = std::move(order);
    if (both) {
      Pair all = make_pair(true);
      out_ = std::move(all.ours);
      their_in_ = std::move(all.theirs);
      is_socket_ = true;
    } else {
      Pair in = make_pair(false);
      their_in_ = std::move(in.ours);
      in_ = std::move(in.theirs);
      Pair out = make_pair(false);
      out_ = std::move(out.ours);
      their_out_ = std::move(out.theirs);
      Pair err = make_pair(false);
      err_ = std::move(err.ours);
      their_err_ = std::move(err.theirs);
    }
    thread_ = std::thread([this, program = std::move(program)] {
      const int in = their_in_.get();
      const VisitEnd how =
          program({order_, in, is_socket_ ? in : their_out_.get(),
                   is_socket_ ? -1 : their_err_.get(), signals_.ours.get()});
      for (Fd* fd : {&their_in_, &their_out_, &their_err_}) fd->reset();
      // A connection that is over has no end of its own.
      if (!is_link) finish(how);
    });
  }

  void finish(const VisitEnd& how) {
    const std::lock_guard lock(mutex_);
    if (end_) return;
    end_ = how;
    eventfd_write(news_.get(), 1);
  }

  int in() const override { return is_socket_ ? out_.get() : in_.get(); }
  int out() const override { return out_.get(); }
  int err() const override { return err_.get(); }
  void close_in() override {
    if (is_socket_) shutdown(out_.get(), SHUT_WR);
    in_.reset();
  }
  void resize(TerminalSize size) override {
    const std::lock_guard lock(door_.mutex_);
    door_.size_ = size;
  }
  void signal(int number) override {
    const auto byte = static_cast<unsigned char>(number);
    [[maybe_unused]] const ssize_t put = write(signals_.theirs.get(), &byte, 1);
  }
  int news() const override { return news_.get(); }
  std::optional<VisitEnd> end() override {
    const std::lock_guard lock(mutex_);
    return end_;
  }

  const WorkerKey worker;
  bool is_link = false;

 private:
  FakeWorkerDoor& door_;
  VisitOrder order_;
  bool is_socket_ = false;
  Fd in_, out_, err_;
  Fd their_in_, their_out_, their_err_;
  Pair signals_ = make_pair(false);
  const Fd news_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex_;
  std::optional<VisitEnd> end_;
  std::thread thread_;
};

FakeWorkerDoor::FakeWorkerDoor() {
  // The same as what these words do in a worker of processes.
  programs_["sh -c echo out; echo err >&2; exit 7"] = &says;
  programs_["cat"] = &echoes;
  programs_["sh -c echo ready; exec sleep 1000"] = &waits;
}

FakeWorkerDoor::~FakeWorkerDoor() { CHECK(visits_.empty()); }

void FakeWorkerDoor::begin_worker(const WorkerKey& key) {
  const std::lock_guard lock(mutex_);
  running_.insert(key);
}

void FakeWorkerDoor::end_worker(const WorkerKey& key) {
  VisitEnd end;
  end.error = failed_precondition("the worker has ended, and the command was killed with it");
  const std::lock_guard lock(mutex_);
  running_.erase(key);
  for (FakeVisit* visit : visits_) {
    if (visit->worker != key) continue;
    visit->finish(end);
    visit->signal(SIGKILL);
  }
}

void FakeWorkerDoor::set_program(const std::string& name, FakeProgram program) {
  const std::lock_guard lock(mutex_);
  programs_[name] = std::move(program);
}

void FakeWorkerDoor::set_port(int port, FakeProgram program) {
  const std::lock_guard lock(mutex_);
  ports_[port] = std::move(program);
}

size_t FakeWorkerDoor::count() {
  const std::lock_guard lock(mutex_);
  return visits_.size();
}

TerminalSize FakeWorkerDoor::last_size() {
  const std::lock_guard lock(mutex_);
  return size_;
}

Done FakeWorkerDoor::check_runs(const WorkerKey& key) {
  const std::lock_guard lock(mutex_);
  if (running_.contains(key)) return done();
  return failed_precondition("worker " + to_text(key) + " does not run on this node");
}

Result<std::unique_ptr<Visit>> FakeWorkerDoor::admit(std::unique_ptr<FakeVisit> visit) {
  const std::lock_guard lock(mutex_);
  visits_.push_back(visit.get());
  return std::unique_ptr<Visit>(std::move(visit));
}

Result<std::unique_ptr<Visit>> FakeWorkerDoor::enter(const WorkerKey& key,
                                                     const VisitOrder& order) {
  TRY(check_runs(key));
  std::string words;
  for (const std::string& word : order.argv) words += (words.empty() ? "" : " ") + word;
  FakeProgram program = [words](const FakeCommand&) {
    VisitEnd end;
    end.error = failed_precondition("cannot run '" + words + "': No such file or directory");
    return end;
  };
  {
    const std::lock_guard lock(mutex_);
    const auto found = programs_.find(words);
    if (found != programs_.end()) program = found->second;
    if (order.terminal) size_ = *order.terminal;
  }
  auto visit = std::make_unique<FakeVisit>(*this, key);
  visit->start(std::move(program), order, order.terminal.has_value());
  return admit(std::move(visit));
}

Result<std::unique_ptr<Visit>> FakeWorkerDoor::connect(const WorkerKey& key, int port) {
  if (port <= 0 || port > 65535) {
    return invalid_argument("there is no port " + std::to_string(port));
  }
  TRY(check_runs(key));
  FakeProgram program;
  {
    const std::lock_guard lock(mutex_);
    const auto found = ports_.find(port);
    if (found == ports_.end()) {
      return unavailable("nothing listens on port " + std::to_string(port));
    }
    program = found->second;
  }
  auto visit = std::make_unique<FakeVisit>(*this, key);
  visit->is_link = true;
  visit->start(std::move(program), {}, true);
  return admit(std::move(visit));
}

Result<std::unique_ptr<Visit>> FakeWorkerDoor::watch(const WorkerKey& key) {
  TRY(check_runs(key));
  return admit(std::make_unique<FakeVisit>(*this, key));
}

}  // namespace keiko
