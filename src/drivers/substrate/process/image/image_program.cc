#include "drivers/substrate/process/image/image_program.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>

#include "base/text.h"
#include "drivers/images/cdi/cdi_spec.h"
#include "drivers/images/store/image_store.h"
#include "drivers/substrate/process/files.h"
#include "drivers/substrate/process/image/image_runtime.h"
#include "drivers/substrate/process/image/oci_config.h"
#include "drivers/substrate/process/image/rootfs_stage.h"

namespace keiko::process {
namespace {

using Environment = std::map<std::string, std::string>;

constexpr const char* kInitInside = "/.keiko-init";
constexpr const char* kDefaultPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

void append_node(const std::string& path, std::vector<ContainerDevice>& devices) {
  struct stat found{};
  if (stat(path.c_str(), &found) != 0) return;
  if (!S_ISCHR(found.st_mode) && !S_ISBLK(found.st_mode)) return;
  devices.push_back({path, S_ISCHR(found.st_mode) ? 'c' : 'b',
                     static_cast<int64_t>(major(found.st_rdev)),
                     static_cast<int64_t>(minor(found.st_rdev))});
}

std::vector<ContainerDevice> devices_of_files(const std::vector<std::string>& files) {
  std::vector<ContainerDevice> devices;
  for (const std::string& file : files) {
    append_node(file, devices);
    DIR* const folder = opendir(file.c_str());
    if (folder == nullptr) continue;
    while (const dirent* const entry = readdir(folder)) {
      append_node(file + "/" + entry->d_name, devices);
    }
    closedir(folder);
  }
  return devices;
}

/// RETURNS: where the libraries among them lie, for the dynamic linker.
std::string library_folders(const std::vector<Mount>& mounts) {
  std::set<std::string> folders;
  for (const Mount& mount : mounts) {
    if (!library_link(mount.target).empty()) {
      folders.insert(mount.target.substr(0, mount.target.rfind('/')));
    }
  }
  return join({folders.begin(), folders.end()}, ":");
}

class ImageStart {
 public:
  ImageStart(const LaunchRecord& launch, const WorkerCgroup& cgroup, const ProgramFds& fds,
              int end)
      : launch_(launch), cgroup_(cgroup), fds_(fds), end_(end) {}

  Done run();
  void tell(char kind, std::string text) const;

 private:
  Result<images::CdiEdits> find_devices() const;
  std::vector<StagePlace> places(const images::CdiEdits& devices) const;
  std::string config(const Environment& of_image, const images::CdiEdits& devices) const;
  Result<pid_t> create(const RootfsStage& stage, std::vector<int> kept) const;
  std::vector<std::string> call(const RootfsStage& stage, std::vector<std::string> words) const;
  Error runtime_error(const RootfsStage& stage, const Heard& heard) const;
  void hold_limits(pid_t pid) const;

  const LaunchRecord& launch_;
  const WorkerCgroup& cgroup_;
  const ProgramFds fds_;
  const int end_;
};

void ImageStart::tell(char kind, std::string text) const {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  write_all(fds_.status, kind + text + "\n");
}

/// What every image gets of its machine, and then what the job asked for.
std::vector<StagePlace> ImageStart::places(const images::CdiEdits& devices) const {
  std::vector<StagePlace> all = {{{"/sys", "/sys", true}, false},
                                 {{launch_.image_init, kInitInside, true}, false}};
  // Names of other ranks' machines must mean inside what they mean outside.
  for (const char* const path : {"/etc/hosts", "/etc/resolv.conf"}) {
    if (exists(path)) all.push_back({{path, path, true}, false});
  }
  for (const Mount& mount : devices.mounts) all.push_back({mount, false});
  for (const Mount& mount : launch_.mounts) all.push_back({mount});
  // The folder of the socket by which it reports to its agent, which may make the socket anew.
  const auto socket = launch_.env.find("KEIKO_SOCKET");
  if (socket != launch_.env.end()) {
    const std::string folder = socket->second.substr(0, socket->second.rfind('/'));
    if (folder.size() > 1 && folder != "/tmp") all.push_back({{folder, folder, true}});
  }
  return all;
}

std::string ImageStart::config(const Environment& of_image,
                                const images::CdiEdits& devices) const {
  ContainerSpec spec;
  spec.argv = {kInitInside};
  spec.argv.insert(spec.argv.end(), launch_.argv.begin(), launch_.argv.end());
  spec.env = image_environment(launch_, of_image);
  spec.workdir = launch_.workdir.empty() ? "/" : launch_.workdir;
  spec.cgroup = runtime_group(launch_.cgroup_name);
  std::vector<std::string> files = launch_.device_files;
  files.insert(files.end(), devices.device_files.begin(), devices.device_files.end());
  spec.devices = devices_of_files(files);
  return oci_config(spec);
}

std::vector<std::string> ImageStart::call(const RootfsStage& stage,
                                           std::vector<std::string> words) const {
  std::vector<std::string> argv = {find_runtime(), "--root", stage.folder() + "/state", "--log",
                                   stage.folder() + "/log"};
  argv.insert(argv.end(), words.begin(), words.end());
  argv.push_back(launch_.cgroup_name);
  return argv;
}

/// The runtime's own last error, without its decoration.
Error ImageStart::runtime_error(const RootfsStage& stage, const Heard& heard) const {
  const std::string log = read_file(stage.folder() + "/log").value_or("");
  const size_t level = log.rfind("level=error msg=\"");
  std::string why = WIFSIGNALED(heard.status) ? "it was killed" : "it did not say why";
  if (level != std::string::npos) {
    why = log.substr(level + 17);
    why = why.substr(0, why.find("\"\n"));
  }
  return failed_precondition("the image " + launch_.image + " does not start: " + why);
}

/// From here on all that holds for plain programs holds for this one, by the same groups.
void ImageStart::hold_limits(pid_t pid) const {
  if (!cgroup_.take(pid)) tell(kStatusNote, "the worker's cgroup would not take it");
  // Where workers have no group of their own, it goes back to the top.
  for (const std::string& group : runtime_groups(launch_.cgroup_root, launch_.cgroup_name)) {
    if (trim(read_file(group + "/cgroup.procs").value_or("")).empty()) continue;
    write_control(group.substr(0, group.rfind('/')) + "/cgroup.procs", std::to_string(pid));
  }
  if (launch_.memory.count > 0 && !cgroup_.holds_memory()) {
    const auto bytes = static_cast<rlim_t>(launch_.memory.count);
    const rlimit limit{bytes, bytes};
    if (prlimit(pid, RLIMIT_DATA, &limit, nullptr) != 0) {
      tell(kStatusNote, "memory limit " + to_text(launch_.memory) + " is not held");
    }
  }
  if (launch_.cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int32_t cpu : launch_.cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<size_t>(cpu), &set);
  }
  if (sched_setaffinity(pid, sizeof set, &set) != 0) {
    tell(kStatusNote, std::string("the worker is not bound to its cpus: ") + std::strerror(errno));
  }
}

Result<images::CdiEdits> ImageStart::find_devices() const {
  std::vector<std::string> missing;
  images::CdiEdits edits =
      TRY(images::find_cdi_edits(images::usual_cdi_folders(), launch_.device_names, missing));
  for (const std::string& name : missing) {
    tell(kStatusNote, "no spec in /etc/cdi or /var/run/cdi names " + name +
                          ": the image must bring the driver's libraries itself");
  }
  return edits;
}

/// RETURNS: the container's first process, which waits to be started.
Result<pid_t> ImageStart::create(const RootfsStage& stage, std::vector<int> kept) const {
  const std::string pid_file = stage.folder() + "/pid";
  const Heard created = TRY(call_runtime(
      {call(stage, {"create", "--bundle", stage.folder(), "--pid-file", pid_file,
                    "--preserve-fds", std::to_string(kept.size())}),
       std::move(kept), fds_.out, fds_.err}));
  const pid_t pid = std::atoi(read_file(pid_file).value_or("").c_str());
  if (created.status == 0 && pid > 0) return pid;
  return runtime_error(stage, created);
}

Done ImageStart::run() {
  if (find_runtime().empty()) return unavailable("runc is not installed on this node any more");
  images::PreparedImage image = TRY(images::prepare_image(launch_.image, launch_.image_store));
  images::CdiEdits devices = TRY(find_devices());
  Environment of_image = std::move(image.env);
  of_image.merge(devices.env);
  const std::string libraries = library_folders(devices.mounts);
  std::string& search = of_image["LD_LIBRARY_PATH"];
  search += (search.empty() || libraries.empty() ? "" : ":") + libraries;
  if (search.empty()) of_image.erase("LD_LIBRARY_PATH");
  for (const auto& [name, value] : of_image) tell(kStatusEnv, name + "=" + value);

  const RootfsStage stage = TRY(RootfsStage::set_up(image.rootfs, places(devices)));
  for (const std::string& note : stage.notes()) tell(kStatusNote, note);
  if (!launch_.workdir.empty() && !stage.has_folder(launch_.workdir)) {
    return failed_precondition("cannot enter the working directory '" + launch_.workdir +
                               "': it is not in the image; set another workdir or mount it");
  }
  TRY(stage.link_libraries(devices.mounts));
  TRY(write_atomically(stage.folder() + "/config.json", config(of_image, devices), false));
  // The first process holds the store's lock for as long as it lives.
  std::vector<int> kept = {fds_.status, end_};
  if (image.lock) kept.push_back(image.lock.get());
  const Result<pid_t> pid = create(stage, std::move(kept));
  if (pid.ok()) hold_limits(*pid);
  remove_runtime_groups(launch_);
  if (!pid.ok()) return pid.error();
  tell(kStatusPid, std::to_string(*pid));
  const Heard started = TRY(call_runtime({call(stage, {"start"})}));
  if (started.status == 0) return done();
  kill(*pid, SIGKILL);
  return runtime_error(stage, started);
}

}  // namespace

std::map<std::string, std::string> image_environment(
    const LaunchRecord& launch, const std::map<std::string, std::string>& of_image) {
  std::map<std::string, std::string> env = launch.env;
  env.insert(of_image.begin(), of_image.end());
  env.emplace("PATH", kDefaultPath);
  env.emplace("HOME", "/tmp");  // the one folder that is always writable
  return env;
}

void remove_runtime_groups(const LaunchRecord& launch) {
  const WorkerCgroup groups(runtime_groups(launch.cgroup_root, launch.cgroup_name));
  if (groups.folders().empty()) return;
  for (const int64_t pid : groups.members()) kill(static_cast<pid_t>(pid), SIGKILL);
  groups.remove();
}

void become_image_helper(const LaunchRecord& launch, const WorkerCgroup& cgroup,
                         const ProgramFds& fds, int end) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  umask(0022);
  ImageStart start(launch, cgroup, fds, end);

  const Done ran = start.run();
  if (!ran.ok()) {
    const Code code = ran.error().code;
    if (code == Code::kUnavailable || code == Code::kResourceExhausted)
      start.tell(kStatusNodeFailed, "");
    start.tell(kStatusFailed, ran.error().message);
  }
  _exit(ran.ok() ? 0 : 127);
}

}  // namespace keiko::process
