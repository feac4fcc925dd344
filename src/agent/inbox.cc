#include "agent/inbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

namespace keiko::agent {

Result<std::unique_ptr<Inbox>> Inbox::open(size_t limit) {
  std::unique_ptr<Inbox> inbox(new Inbox(limit));
  inbox->fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (inbox->fd_ < 0) return errno_error("cannot make the loop's descriptor", errno);
  return inbox;
}

Inbox::~Inbox() {
  if (fd_ >= 0) close(fd_);
}

bool Inbox::post(Post post) {
  {
    const std::lock_guard lock(mutex_);
    if (posts_.size() >= limit_ && std::holds_alternative<ServerMessage>(post)) return false;
    posts_.push_back(std::move(post));
  }
  wake();
  return true;
}

void Inbox::wake() { eventfd_write(fd_, 1); }

std::deque<Post> Inbox::take() {
  eventfd_t count = 0;
  eventfd_read(fd_, &count);
  std::deque<Post> taken;
  const std::lock_guard lock(mutex_);
  taken.swap(posts_);
  return taken;
}

}  // namespace keiko::agent
