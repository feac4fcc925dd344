// Inbox: what I/O threads leave for the agent's loop. Bounded; a descriptor says when to look.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <variant>

#include "model/messages.h"

namespace keiko::agent {

struct LinkUp {};
struct LinkDown { Error why; };
/// Somebody wants the agent to end, its workers first or not.
struct StopOrder { bool take_workers = false; };
using Post = std::variant<LinkUp, LinkDown, ServerMessage, StopOrder>;

class Inbox {
 public:
  /// `limit` holds for the server's messages; the other kinds are few.
  static Result<std::unique_ptr<Inbox>> open(size_t limit);
  ~Inbox();

  /// RETURNS: false if there is no room; the post is dropped.
  bool post(Post post);
  /// Wakes the loop without a post.
  void wake();
  /// RETURNS: everything since the last call; fd() is quiet afterwards.
  std::deque<Post> take();

  int fd() const { return fd_; }

 private:
  explicit Inbox(size_t limit) : limit_(limit) {}

  const size_t limit_;
  int fd_ = -1;
  std::mutex mutex_;
  std::deque<Post> posts_;
};

}  // namespace keiko::agent
