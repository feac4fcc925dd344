// WorkerSockets: the Unix sockets over which workers talk to the agent, one for each worker.
//
// A thread of its own does all I/O and never waits for a worker: one that says garbage, or does not
// read what it is sent, loses its connection and nothing else. What workers say is kept as the
// latest of each kind until the loop takes it, so a chatty worker costs no memory. Sockets are made
// again after a restart of the agent; workers dial again. All members are safe from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "agent/socket_protocol.h"

namespace keiko::agent {

/// The latest that one worker said since it was last asked.
struct WorkerNews {
  WorkerKey key;
  std::optional<Progress> progress;
  std::optional<CheckpointMark> checkpoint;
  std::optional<int64_t> ack;
};

class WorkerSockets {
 public:
  /// `on_news` is called from the sockets' thread when take() has something after having had
  /// nothing; it should only wake the loop. RETURNS: an Error if the kernel refuses descriptors.
  static Result<std::unique_ptr<WorkerSockets>> open(std::function<void()> on_news);
  ~WorkerSockets();

  /// Makes the socket at `path`, its folder included; what lay there before is replaced.
  /// RETURNS: an Error if it cannot; the worker then has to do without.
  Done listen(const WorkerKey& key, const std::string& path);

  /// Closes the worker's connections and removes its socket.
  void forget(const WorkerKey& key);

  /// Sends the notice to every connection of the worker, later ones included.
  void notify(const WorkerKey& key, Duration deadline, const std::string& reason);

  /// Waits until everything that the worker has said so far is ready to take: for a worker that has
  /// ended, so that its last words do not come after its end. Short: no worker is waited for.
  void drain(const WorkerKey& key);

  std::vector<WorkerNews> take();

 private:
  using Steady = std::chrono::steady_clock;
  struct Listener {
    WorkerKey key;
    std::string path;
    int fd = -1;
  };
  struct Forget { WorkerKey key; };
  struct Notify {
    WorkerKey key;
    int64_t id = 0;
    Steady::time_point until;
    std::string reason;
  };
  struct Drain { WorkerKey key; };
  using Order = std::variant<Listener, Forget, Notify, Drain>;
  enum class Heard { kSome, kNothing, kOver };
  struct Connection {
    WorkerKey key;
    int fd = -1;
    std::string input;
    std::string output;
  };

  explicit WorkerSockets(std::function<void()> on_news) : on_news_(std::move(on_news)) {}
  /// RETURNS: the order's place among all.
  uint64_t post(Order order);
  void run();
  bool obey_orders();
  void obey(Listener& order);
  void obey(const Forget& order);
  void obey(const Notify& order);
  void obey(const Drain& order);
  void serve(uint64_t number, uint32_t events);
  /// RETURNS: whether there was somebody.
  bool accept_from(const Listener& listener);
  Heard receive(Connection& connection);
  bool handle(const Connection& connection, std::string_view line);
  void keep(const WorkerKey& key, const WorkerLine& line);
  void send_notice(Connection& connection, const Notify& notice);
  bool flush(uint64_t number, Connection& connection);
  void drop(uint64_t number, std::string_view why);
  size_t connection_count(const WorkerKey& key) const;
  void watch(int fd, uint64_t number, uint32_t events, int operation) const;

  const std::function<void()> on_news_;
  int epoll_ = -1;
  int wake_ = -1;

  std::mutex mutex_;  // guards what follows, up to the blank line
  std::condition_variable obeyed_;
  std::deque<Order> orders_;
  uint64_t posted_count_ = 0;
  uint64_t obeyed_count_ = 0;
  std::map<WorkerKey, WorkerNews> news_;
  bool stopping_ = false;
  int64_t next_notice_ = 1;

  std::map<uint64_t, Listener> listeners_;      // of the thread alone, as all below
  std::map<uint64_t, Connection> connections_;
  std::map<WorkerKey, Notify> notices_;         // the latest to each worker
  uint64_t next_number_ = 1;                    // 0 is the wake descriptor
  std::thread thread_;
};

}  // namespace keiko::agent
