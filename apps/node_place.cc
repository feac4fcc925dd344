#include "node_place.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/text.h"
#include "cli/place/place_file.h"

namespace keiko::apps {
namespace {

using std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{10};
constexpr size_t kMostOutput = 64 * 1024;

/// A program in a process group of its own, with its output in a pipe.
class Hook {
 public:
  ~Hook() {
    if (out_ >= 0) close(out_);
    if (pid_ > 0) {
      kill(-pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  Done start(const std::string& program, const std::string& node) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return errno_error("pipe", errno);
    out_ = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    char* const argv[] = {const_cast<char*>(program.c_str()), const_cast<char*>(node.c_str()),
                          nullptr};
    const int failed = posix_spawn(&pid_, program.c_str(), &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    if (failed == 0) return done();
    pid_ = -1;
    return errno_error("cannot run " + program, failed);
  }

  /// RETURNS: all of its output once it has closed it.
  Result<std::string> read_all(const std::string& program) {
    std::string text;
    for (;;) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(until_ - steady_clock::now());
      pollfd wait{out_, POLLIN, 0};
      if (left.count() <= 0 || poll(&wait, 1, static_cast<int>(left.count())) == 0) {
        return late(program);
      }
      char piece[4096];
      const ssize_t got = read(out_, piece, sizeof piece);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return text;
      text.append(piece, static_cast<size_t>(got));
      if (text.size() > kMostOutput) return resource_exhausted(program + " prints without end");
    }
  }

  /// RETURNS: its wait status. It may run on though its output has ended.
  Result<int> wait(const std::string& program) {
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (steady_clock::now() > until_) return late(program);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    pid_ = -1;
    return status;
  }

 private:
  static Error late(const std::string& program) {
    return deadline_exceeded(program + " has not ended after 10 s");
  }

  const steady_clock::time_point until_ = steady_clock::now() + kPatience;
  pid_t pid_ = -1;
  int out_ = -1;
};

Result<std::map<std::string, std::string>> ask_program(const std::string& program,
                                                       const std::string& node) {
  Hook hook;
  TRY(hook.start(program, node));
  const std::string text = TRY(hook.read_all(program));
  const int status = TRY(hook.wait(program));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return failed_precondition(program + " " + node + " failed: " +
                               (WIFEXITED(status) ? "exit code " : "signal ") +
                               std::to_string(WIFEXITED(status) ? WEXITSTATUS(status)
                                                                : WTERMSIG(status)));
  }
  std::map<std::string, std::string> labels;
  for (const std::string& line : split(text, '\n')) {
    if (line.empty()) continue;
    if (!add_label(line, labels)) {
      return invalid_argument(program + " printed " + quote_text(line) +
                              ", which is not KEY=VALUE, as in rack=r7");
    }
  }
  return labels;
}

}  // namespace

bool add_label(const std::string& text, std::map<std::string, std::string>& labels) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) return false;
  labels[text.substr(0, equals)] = text.substr(equals + 1);
  return true;
}

Result<std::map<std::string, std::string>> labels_of_place(const std::string& source,
                                                           const std::string& node) {
  if (access(source.c_str(), X_OK) == 0) return ask_program(source, node);
  return cli::load_place_file(source, node);
}

}  // namespace keiko::apps
