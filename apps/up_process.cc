#include "up_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>
#include <fstream>

#include "drivers/substrate/process/spawn_plan.h"

namespace keiko::up {

Result<process::ProcessIdentity> start_process(const std::vector<std::string>& argv,
                                               const std::vector<std::string>& extra,
                                               const std::string& log_path) {
  std::vector<std::string> variables = extra;
  for (char** at = environ; *at != nullptr; ++at) variables.emplace_back(*at);
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  using process::SpawnPlan;
  SpawnPlan plan(SpawnPlan::Group::kSession, SpawnPlan::Signals::kOpen);
  posix_spawn_file_actions_addopen(plan.actions(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(plan.actions(), STDOUT_FILENO, log_path.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(plan.actions(), STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = 0;
  const int error = plan.start(argv, environment.data(), pid);
  if (error != 0) return errno_error("start " + argv[0] + " with log " + log_path, error);
  // One that ended already is a zombie until reap_process(), so the pid is still its own.
  process::ProcessIdentity identity = process::identify(pid);
  identity.pid = pid;
  return identity;
}

Done signal_process(const process::ProcessIdentity& identity, int number) {
  if (!process::is_alive(identity)) return done();
  if (kill(static_cast<pid_t>(identity.pid), number) == 0 || errno == ESRCH) return done();
  return errno_error("signal process " + std::to_string(identity.pid), errno);
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
