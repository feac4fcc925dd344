// A mutex, a condition and two vectors that are swapped out whole.
#include "server/inbox.h"

#include <chrono>

namespace keiko::server {
namespace {

Error closed_error() { return unavailable("the server is stopping; try again in a moment"); }

Error full_error(size_t limit) {
  return resource_exhausted("the server has " + std::to_string(limit) +
                            " requests waiting; try again in a moment");
}

}  // namespace

Done Inbox::push_commands(std::vector<CommandItem>& items) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return closed_error();
    if (waiting_.events.size() + items.size() > limit_) return full_error(limit_);
    for (CommandItem& item : items) waiting_.events.emplace_back(std::move(item));
  }
  news_.notify_one();
  return done();
}

void Inbox::push_event(cluster::EventBody body) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    waiting_.events.emplace_back(std::move(body));
  }
  news_.notify_one();
}

Done Inbox::push_task(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return closed_error();
    if (waiting_.tasks.size() >= limit_) return full_error(limit_);
    waiting_.tasks.push_back(std::move(task));
  }
  news_.notify_one();
  return done();
}

void Inbox::push_agent_task(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    waiting_.tasks.push_back(std::move(task));
  }
  news_.notify_one();
}

bool Inbox::take(Batch& batch, Duration at_most) {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, std::chrono::nanoseconds(std::max<int64_t>(at_most.ns, 0)), [this] {
    return closed_ || !waiting_.events.empty() || !waiting_.tasks.empty();
  });
  batch = std::exchange(waiting_, {});
  return !closed_;
}

bool Inbox::empty() const { return size() == 0; }

size_t Inbox::size() const {
  const std::lock_guard lock(mutex_);
  return waiting_.events.size() + waiting_.tasks.size();
}

void Inbox::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  news_.notify_all();
}

}  // namespace keiko::server
