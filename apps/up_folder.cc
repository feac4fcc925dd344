#include "up_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "up_record.h"

namespace keiko::up {
namespace {

Done make_folder(const std::string& path) {
  std::error_code error;
  // Job files hold secrets: a folder that is made here is its user's alone.
  if (std::filesystem::create_directories(path, error)) {
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
  }
  if (!error && access(path.c_str(), W_OK | X_OK) == 0) return done();
  const int number = error ? error.value() : errno;
  Error failed = errno_error("the state directory " + path + " cannot be used", number);
  failed.message += "; choose another with --state DIR";
  return failed;
}

}  // namespace

std::string log_path(const std::string& state_dir, const std::string& process) {
  return state_dir + "/logs/" + process + ".log";
}

std::string agent_dir(const std::string& state_dir, const std::string& node) {
  return state_dir + "/agents/" + node;
}

Done make_folders(const UpOptions& options) {
  TRY(make_folder(options.state_dir));
  TRY(make_folder(options.state_dir + "/logs"));
  TRY(make_folder(options.state_dir + "/agents"));
  for (int64_t i = 1; i <= options.nodes; ++i) {
    TRY(make_folder(agent_dir(options.state_dir, "node" + std::to_string(i))));
  }
  return done();
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) close(fd_);
}

Done FolderLock::take(const std::string& state_dir) {
  const std::string path = state_dir + "/up.lock";
  fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) return errno_error("open " + path, errno);
  if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return done();
  const auto record = read_up_record(state_dir);
  const NamedProcess* other = record ? record->find("supervisor") : nullptr;
  const std::string who =
      other == nullptr ? "" : " (pid " + std::to_string(other->identity.pid) + ")";
  return already_exists("`keiko up`" + who + " runs already on " + state_dir +
                        "; stop it with `keiko up --stop --state " + state_dir +
                        "`, or give this one a folder of its own with --state DIR");
}

}  // namespace keiko::up
