// How the processes of a pool end. The agents go first and all at once, each with its workers: the
// server writes down that they ended by our will, not by their own, so that the next start of the
// pool goes on with the jobs. No job is cancelled.
#include <algorithm>
#include <cstdio>

#include "up_grace.h"
#include "up_loop.h"

namespace keiko::up {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

void UpLoop::stop_all() {
  std::vector<Child*> server;
  std::vector<Child*> agents;
  for (Child& child : children_) {
    if (child.pidfd() >= 0) (child.name() == "server" ? server : agents).push_back(&child);
  }
  // Each agent kills what does not end within its job's grace; then it has some time for itself.
  stop_children(agents, agent_patience(address_.grpc));
  stop_children(server, std::chrono::seconds(10));
  std::remove((options_.state_dir + "/up.json").c_str());
}

void UpLoop::stop_children(const std::vector<Child*>& children, std::chrono::seconds patience) {
  for (const Child* child : children) child->signal(SIGTERM);
  const auto until = steady_clock::now() + patience;
  const int asked = signals_;
  const auto living = [&] {
    return std::any_of(children.begin(), children.end(), [](const Child* c) { return c->lives(); });
  };
  // A pidfd stays readable until its child is buried, so each is buried as soon as it is dead.
  while (living() && steady_clock::now() < until && (asked == 0 || signals_ == asked)) {
    for (Child* child : children) {
      if (child->pidfd() >= 0 && !child->lives()) child->bury();
    }
    wait(milliseconds(500));
  }
  for (Child* child : children) {
    if (child->lives()) {
      std::printf("%s does not stop: killed\n", child->name().c_str());
      child->signal(SIGKILL);
    }
    while (child->lives()) wait(milliseconds(5));
    if (child->pidfd() >= 0) child->bury();
  }
}

}  // namespace keiko::up
