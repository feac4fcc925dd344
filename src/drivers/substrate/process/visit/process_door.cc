#include "drivers/substrate/process/visit/process_door.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "drivers/substrate/process/files.h"
#include "drivers/substrate/process/spawn_plan.h"
#include "drivers/substrate/process/visit/link_visit.h"
#include "drivers/substrate/process/visit/visit_keeper.h"
#include "ports/substrate.h"

namespace keiko {
namespace {

using process::Fd;

Error system_error(const std::string& what) {
  return unavailable(what + ": " + std::strerror(errno));
}

/// Both ends of the command's streams.
struct Streams {
  Fd in, out, err;                 ///< ours
  Fd their_in, their_out, their_err;
};

Done make_pipe(Fd& read_end, Fd& write_end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe");
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return done();
}

void set_size(int terminal, TerminalSize size) {
  winsize window{};
  window.ws_row = static_cast<unsigned short>(size.rows);
  window.ws_col = static_cast<unsigned short>(size.columns);
  ioctl(terminal, TIOCSWINSZ, &window);
}

Done open_terminal(TerminalSize size, Streams& streams) {
  const int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
  streams.in.reset(posix_openpt(flags));
  char name[128];
  if (!streams.in || grantpt(streams.in.get()) != 0 || unlockpt(streams.in.get()) != 0 ||
      ptsname_r(streams.in.get(), name, sizeof name) != 0) {
    return system_error("cannot open a terminal on the node");
  }
  set_size(streams.in.get(), size);
  streams.out.reset(fcntl(streams.in.get(), F_DUPFD_CLOEXEC, 0));
  streams.their_in.reset(open(name, flags));
  streams.their_out.reset(fcntl(streams.their_in.get(), F_DUPFD_CLOEXEC, 0));
  streams.their_err.reset(fcntl(streams.their_in.get(), F_DUPFD_CLOEXEC, 0));
  if (!streams.their_err || !streams.out) return system_error("cannot open a terminal's end");
  return done();
}

Result<Streams> open_streams(const VisitOrder& order) {
  Streams streams;
  if (order.terminal) {
    TRY(open_terminal(*order.terminal, streams));
  } else {
    TRY(make_pipe(streams.their_in, streams.in));
    TRY(make_pipe(streams.out, streams.their_out));
    TRY(make_pipe(streams.err, streams.their_err));
  }
  for (const Fd* fd : {&streams.in, &streams.out, &streams.err}) {
    if (*fd) fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  }
  return streams;
}

/// Descriptors of the parent in the order of the child's numbers from kVisitControlFd on.
Result<pid_t> spawn_keeper(const std::vector<std::string>& words, const std::vector<int>& fds) {
  process::SpawnPlan plan(process::SpawnPlan::Group::kSession,
                          process::SpawnPlan::Signals::kBlocked);
  int number = process::kVisitControlFd;
  for (const int fd : fds) {
    if (!plan.hand_over(fd, number++)) {
      return system_error("cannot hand streams to the keeper of a command");
    }
  }
  posix_spawn_file_actions_addclosefrom_np(plan.actions(), number);
  pid_t pid = 0;
  const int error = plan.start(words, environ, pid);
  if (error == 0) return pid;
  return unavailable(std::string("cannot start the keeper of a command: ") + std::strerror(error));
}

class ProcessVisit : public Visit {
 public:
  ProcessVisit(Streams streams, Fd control, pid_t keeper)
      : streams_(std::move(streams)), control_(std::move(control)), keeper_(keeper) {}

  ~ProcessVisit() override {
    control_.reset();
    while (waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) continue;
  }

  int in() const override { return streams_.in.get(); }
  int out() const override { return streams_.out.get(); }
  int err() const override { return streams_.err.get(); }
  void close_in() override { streams_.in.reset(); }
  void resize(TerminalSize size) override { set_size(streams_.out.get(), size); }
  int news() const override { return control_.get(); }

  void signal(int number) override {
    const std::string text = std::to_string(number);
    // One that does not fit follows thousands that the keeper has not read.
    [[maybe_unused]] const ssize_t sent =
        send(control_.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  std::optional<VisitEnd> end() override {
    std::string bytes(process::kVisitRecordBytes, '\0');
    const ssize_t got = recv(control_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    VisitEnd end;
    if (got <= 0) {
      end.error = unavailable("the keeper of the command is gone, and the command with it");
      return end;
    }
    const auto record = decode<process::VisitEndRecord>(
        std::string_view(bytes).substr(1, static_cast<size_t>(got) - 1));
    if (!record.ok()) {
      end.error = record.error();
      return end;
    }
    end.exit_code = record->exit_code;
    end.signal = record->signal;
    if (record->worker_ended) {
      end.error = failed_precondition("the worker has ended, and the command was killed with it");
    } else if (!record->failure.empty()) {
      end.error = failed_precondition(record->failure);
    } else {
      end.error.code = Code::kOk;
    }
    return end;
  }

 private:
  Streams streams_;
  Fd control_;
  const pid_t keeper_;
};

}  // namespace

Result<std::unique_ptr<Visit>> ProcessDoor::enter(const WorkerKey& key, const VisitOrder& order) {
  process::VisitRecord record;
  record.folder = worker_paths(state_dir_, key).folder;
  record.argv = order.argv;
  record.env = order.env;
  record.terminal = order.terminal.has_value();
  if (order.copy) {
    record.copy = true;
    record.copy_path = order.copy->path;
    record.copy_into = order.copy->into_worker;
    record.copy_recursive = order.copy->recursive;
  }
  if (!process::exists(record.folder + "/running")) {
    return failed_precondition("worker " + to_text(key) + " does not run on this node");
  }
  const std::string bytes = encode(record);
  if (bytes.size() > process::kVisitRecordBytes) {
    return invalid_argument("the command is longer than 128 KiB; send it through standard input");
  }
  Streams streams = TRY(open_streams(order));
  int control[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0) {
    return system_error("cannot make a socket");
  }
  Fd ours(control[0]);
  const Fd theirs(control[1]);
  const pid_t keeper = TRY(spawn_keeper(
      keeper_command_, {theirs.get(), streams.their_in.get(), streams.their_out.get(),
                        streams.their_err.get()}));
  for (Fd* fd : {&streams.their_in, &streams.their_out, &streams.their_err}) fd->reset();
  const int control_fd = ours.get();
  auto visit = std::make_unique<ProcessVisit>(std::move(streams), std::move(ours), keeper);
  if (send(control_fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) {
    return system_error("cannot tell the keeper what to run");
  }
  return std::unique_ptr<Visit>(std::move(visit));
}

Result<std::unique_ptr<Visit>> ProcessDoor::connect(const WorkerKey& key, int port) {
  if (port <= 0 || port > 65535) {
    return invalid_argument("there is no port " + std::to_string(port));
  }
  return process::make_link_visit(worker_paths(state_dir_, key).folder, port);
}

Result<std::unique_ptr<Visit>> ProcessDoor::watch(const WorkerKey& key) {
  return process::make_link_visit(worker_paths(state_dir_, key).folder, 0);
}

}  // namespace keiko
