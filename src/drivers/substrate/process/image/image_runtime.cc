#include "drivers/substrate/process/image/image_runtime.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "drivers/substrate/process/files.h"
#include "drivers/substrate/process/spawn_plan.h"

namespace keiko::process {
namespace {

constexpr size_t kMostHeard = 64 * 1024;

/// "runc version 1.1.5+ds1" and more lines: "runc 1.1.5".
std::string version_of(const std::string& output) {
  const std::string line = output.substr(0, output.find('\n'));
  const std::string word = line.substr(line.rfind(' ') + 1);
  return "runc " + word.substr(0, word.find_first_of("+~-"));
}

/// Whether this process may make namespaces, and mount an overlay in them, is found by doing it.
Done try_mounting() {
  int told[2];
  if (pipe2(told, O_CLOEXEC) != 0) return errno_error("cannot make a pipe", errno);
  const Fd read_end(told[0]);
  Fd write_end(told[1]);
  const pid_t child = fork();
  if (child < 0) return errno_error("cannot fork", errno);
  if (child == 0) {
    const char* what = "";
    if (unshare(CLONE_NEWNS) != 0) {
      what = "this process may not make namespaces";
    } else if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
               mount("tmpfs", "/proc", "tmpfs", 0, nullptr) != 0) {
      what = "this process may not mount";
    } else if (mkdir("/proc/a", 0755) != 0 || mkdir("/proc/b", 0755) != 0 ||
               mkdir("/proc/c", 0755) != 0 ||
               mount("overlay", "/proc/a", "overlay", 0,
                     "lowerdir=/proc/a,upperdir=/proc/b,workdir=/proc/c") != 0) {
      what = "the kernel has no overlay file system";
    }
    if (write(told[1], what, std::strlen(what)) < 0) _exit(1);
    _exit(0);
  }
  write_end.reset();
  char text[128];
  const ssize_t got = read(read_end.get(), text, sizeof text);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  if (got <= 0) return done();
  return failed_precondition(std::string(text, static_cast<size_t>(got)));
}

}  // namespace

std::string find_runtime() {
  // Not by PATH: what runs as root is not looked up where others may have written.
  for (const char* const path :
       {"/usr/sbin/runc", "/usr/bin/runc", "/usr/local/sbin/runc", "/usr/local/bin/runc"}) {
    if (access(path, X_OK) == 0) return path;
  }
  return {};
}

std::string runtime_group(const std::string& worker) { return "/keiko-start-" + worker; }

std::vector<std::string> runtime_groups(const std::string& root, const std::string& worker) {
  const std::string top = root.empty() ? "/sys/fs/cgroup" : root;
  std::vector<std::string> found;
  const auto add = [&](const std::string& tree) {
    const std::string folder = tree + runtime_group(worker);
    if (exists(folder)) found.push_back(folder);
  };
  add(top);
  DIR* const folder = opendir(top.c_str());
  if (folder == nullptr) return found;
  while (const dirent* const entry = readdir(folder)) {
    if (entry->d_name[0] != '.') add(top + "/" + entry->d_name);
  }
  closedir(folder);
  return found;
}

std::string image_init_beside_program() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0) return {};
  const std::string own(path, static_cast<size_t>(size));
  return own.substr(0, own.rfind('/')) + "/keiko-init";
}

Result<std::string> probe_image_runtime(const std::string& image_init) {
  if (geteuid() != 0) {
    return failed_precondition("its agent does not run as root, which making containers needs");
  }
  const std::string runtime = find_runtime();
  if (runtime.empty()) {
    return failed_precondition("runc is not installed there; `apt-get install runc`, then restart "
                               "the agent");
  }
  if (access(image_init.c_str(), X_OK) != 0) {
    return failed_precondition(image_init + " is missing; install it beside keiko");
  }
  const Heard heard = TRY(call_runtime({{runtime, "--version"}}));
  if (heard.status != 0) {
    return failed_precondition(runtime + " does not run: " + std::string(trim(heard.output)));
  }
  TRY(try_mounting());
  return version_of(heard.output);
}

Result<Heard> call_runtime(const RuntimeCall& call) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno_error("cannot make a pipe", errno);
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  pid_t pid = 0;
  int error = 0;
  {
    SpawnPlan plan(SpawnPlan::Group::kProcessGroup, SpawnPlan::Signals::kOpen);
    posix_spawn_file_actions_addopen(plan.actions(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    bool handed = plan.hand_over(call.out >= 0 ? call.out : write_end.get(), STDOUT_FILENO) &&
                  plan.hand_over(call.err >= 0 ? call.err : write_end.get(), STDERR_FILENO);
    int number = STDERR_FILENO;
    for (const int fd : call.keep) handed = handed && plan.hand_over(fd, ++number);
    posix_spawn_file_actions_addclosefrom_np(plan.actions(), number + 1);
    std::string path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    char* const env[] = {path.data(), nullptr};
    error = handed ? plan.start(call.argv, env, pid) : errno;
  }
  write_end.reset();
  if (error != 0) return unavailable("cannot run " + call.argv[0] + ": " + std::strerror(error));
  Heard heard;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = read(read_end.get(), buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0 && heard.output.size() < kMostHeard) {
      heard.output.append(buffer, static_cast<size_t>(got));
    }
  }
  while (waitpid(pid, &heard.status, 0) < 0 && errno == EINTR) continue;
  return heard;
}

}  // namespace keiko::process
