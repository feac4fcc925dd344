// Inbox: the bounded queue in front of the loop thread. Any thread pushes, the loop alone takes.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "core/cluster/cluster_brain.h"

namespace keiko::server {

/// The answer to a command: the brain's Reply, or why it was never tried.
using OnReply = std::function<void(const Result<JobId>& result, const std::string& text)>;

struct CommandItem {
  cluster::CommandBody body;
  OnReply on_reply;
};

/// A closure for the loop thread; runs between batches.
using Task = std::function<void()>;

class Inbox {
 public:
  /// What was waiting, in the order of arrival.
  struct Batch {
    std::vector<std::variant<CommandItem, cluster::EventBody>> events;
    std::vector<Task> tasks;
  };

  explicit Inbox(size_t limit) : limit_(limit) {}

  /// All or none. RETURNS: kResourceExhausted if they do not fit, kUnavailable after close(); the
  /// items are then untouched.
  Done push_commands(std::vector<CommandItem>& items);

  /// Never refused for want of room: each agent has one message under way at a time.
  void push_event(cluster::EventBody body);

  /// RETURNS: as push_commands.
  Done push_task(Task task);

  /// A task that comes with an agent's message, never refused for want of room.
  void push_agent_task(Task task);

  /// Waits until something is there, `wake` has passed, or close(). RETURNS: false once closed.
  bool take(Batch& batch, Duration at_most);

  bool empty() const;
  size_t size() const;

  /// Nothing more is accepted; what waits can still be taken.
  void close();

 private:
  const size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable news_;
  Batch waiting_;
  bool closed_ = false;
};

}  // namespace keiko::server
