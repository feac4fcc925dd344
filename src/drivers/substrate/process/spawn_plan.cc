#include "drivers/substrate/process/spawn_plan.h"

#include <fcntl.h>

#include <csignal>

namespace keiko::process {
namespace {

/// Copies lie far above the numbers they go to, so that none overwrites another on its way.
constexpr int kFirstFreeFd = 10;

}  // namespace

SpawnPlan::SpawnPlan(Group group, Signals signals) {
  posix_spawnattr_init(&attributes_);
  posix_spawn_file_actions_init(&actions_);
  sigset_t all;
  sigset_t blocked;
  sigfillset(&all);
  sigemptyset(&blocked);
  posix_spawnattr_setsigmask(&attributes_, signals == Signals::kBlocked ? &all : &blocked);
  posix_spawnattr_setsigdefault(&attributes_, &all);
  const int own = group == Group::kSession ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
  posix_spawnattr_setflags(&attributes_,
                           static_cast<short>(own | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF));
}

SpawnPlan::~SpawnPlan() {
  posix_spawn_file_actions_destroy(&actions_);
  posix_spawnattr_destroy(&attributes_);
}

bool SpawnPlan::hand_over(int fd, int number) {
  copies_.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, kFirstFreeFd));
  if (!copies_.back()) return false;
  posix_spawn_file_actions_adddup2(&actions_, copies_.back().get(), number);
  return true;
}

int SpawnPlan::start(std::vector<std::string> words, char* const* environment, pid_t& pid) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return posix_spawn(&pid, argv[0], &actions_, &attributes_, argv.data(), environment);
}

}  // namespace keiko::process
