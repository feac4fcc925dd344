// posix_spawn, since the supervisor has gRPC's threads and must not fork by hand.
#include "up_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <deque>
#include <fstream>

extern char** environ;

namespace keiko::up {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Result<process::ProcessIdentity> start_process(const std::vector<std::string>& argv,
                                               const std::vector<std::string>& extra,
                                               const std::string& log_path) {
  std::vector<std::string> words = argv;
  std::vector<std::string> variables = extra;
  for (char** at = environ; *at != nullptr; ++at) variables.emplace_back(*at);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                   0644);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, words[0].c_str(), &files, &attributes,
                                pointers(words).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return errno_error("start " + argv[0] + " with log " + log_path, error);
  // One that ended already is a zombie until reap_process(), so the pid is still its own.
  process::ProcessIdentity identity = process::identify(pid);
  identity.pid = pid;
  return identity;
}

void signal_process(const process::ProcessIdentity& identity, int number) {
  if (process::is_alive(identity)) kill(static_cast<pid_t>(identity.pid), number);
}

std::string reap_process(const process::ProcessIdentity& identity) {
  int status = 0;
  if (waitpid(static_cast<pid_t>(identity.pid), &status, WNOHANG) <= 0) return "";
  if (WIFSIGNALED(status)) return "by signal " + std::to_string(WTERMSIG(status));
  return "with exit code " + std::to_string(WEXITSTATUS(status));
}

std::string last_lines(const std::string& log_path, size_t count) {
  std::ifstream in(log_path);
  std::deque<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back("  " + line);
    if (lines.size() > count) lines.pop_front();
  }
  std::string text;
  for (const std::string& line : lines) text += "\n" + line;
  return text;
}

std::string own_program() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "keiko";
}

}  // namespace keiko::up
