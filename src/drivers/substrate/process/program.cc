#include "drivers/substrate/process/program.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/text.h"
#include "drivers/substrate/process/files.h"

namespace keiko::process {
namespace {

constexpr const char* kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

void tell(int status_fd, char kind, std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  write_all(status_fd, kind + text + "\n");
}

[[noreturn]] void fail(int status_fd, const std::string& text) {
  tell(status_fd, kStatusFailed, text);
  _exit(127);
}

void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

/// RETURNS: the errno that tells most, after no candidate could be executed.
int execute(const std::vector<std::string>& files, std::vector<std::string> argv,
            std::vector<std::string> env) {
  int best = ENOENT;
  const std::vector<char*> env_pointers = pointers(env);
  for (const std::string& file : files) {
    execve(file.c_str(), pointers(argv).data(), env_pointers.data());
    if (errno == ENOEXEC) {
      // A script without "#!": a shell runs it, as execvp(3) would.
      argv.insert(argv.begin(), "/bin/sh");
      argv[1] = file;
      execve("/bin/sh", pointers(argv).data(), env_pointers.data());
      return errno;
    }
    if (errno != ENOENT && errno != ENOTDIR) best = errno;
  }
  return best;
}

}  // namespace

std::vector<std::string> candidates_in_path(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) return {name};
  std::vector<std::string> files;
  for (const std::string& folder : split(path, ':')) {
    files.push_back((folder.empty() ? "." : folder) + "/" + name);
  }
  return files;
}

void hold_limits(const LaunchRecord& launch, const WorkerCgroup& cgroup, int status) {
  if (!cgroup.join()) tell(status, kStatusNote, "the worker's cgroup would not take it");
  if (launch.memory.count > 0 && !cgroup.holds_memory()) {
    // Not RLIMIT_AS: accelerator runtimes reserve far more address space than they ever touch.
    const auto bytes = static_cast<rlim_t>(launch.memory.count);
    const rlimit limit{bytes, bytes};
    if (setrlimit(RLIMIT_DATA, &limit) != 0) {
      tell(status, kStatusNote, "memory limit " + to_text(launch.memory) + " is not held");
    }
  }
  if (launch.cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int32_t cpu : launch.cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<size_t>(cpu), &set);
  }
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    tell(status, kStatusNote,
         std::string("the worker is not bound to its cpus: ") + std::strerror(errno));
  }
}

void take_place(const LaunchRecord& launch, const ProgramFds& fds) {
  setsid();
  // If the shim is killed, at least the program goes at once; the agent sweeps up the rest.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(fds.out, STDOUT_FILENO);
  dup2(fds.err, STDERR_FILENO);
  const std::string workdir = launch.workdir.empty() ? "/" : launch.workdir;
  if (chdir(workdir.c_str()) != 0) {
    fail(fds.status, "cannot enter the working directory '" + workdir + "': " +
                         std::strerror(errno) + "; make it on this node or set another workdir");
  }
  reset_signals();
}

void enter_worker(const LaunchRecord& launch, const WorkerCgroup& cgroup, const ProgramFds& fds) {
  hold_limits(launch, cgroup, fds.status);
  take_place(launch, fds);
}

void become_program(const LaunchRecord& launch, const WorkerCgroup& cgroup,
                    const ProgramFds& fds) {
  enter_worker(launch, cgroup, fds);
  run_program(launch, fds);
}

void run_program(const LaunchRecord& launch, const ProgramFds& fds) {
  const auto set_path = launch.env.find("PATH");
  const std::string path = set_path != launch.env.end() ? set_path->second : kDefaultPath;
  std::vector<std::string> env;
  for (const auto& [name, value] : launch.env) env.push_back(name + "=" + value);
  const std::string& name = launch.argv[0];
  const int error = execute(candidates_in_path(name, path), launch.argv, env);
  std::string why = "cannot run '" + name + "': " + std::strerror(error);
  if (name.find('/') == std::string::npos) why += " (looked in PATH=" + path + ")";
  if (error == ENOENT && name.find('/') != std::string::npos && exists(name)) {
    why += " (the file is there; the interpreter that it names is not)";
  }
  fail(fds.status, why);
}

}  // namespace keiko::process
