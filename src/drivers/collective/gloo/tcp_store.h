// The rendezvous store: rank 0 listens on MASTER_ADDR:MASTER_PORT, every rank (rank 0 too) dials
// in, sets its own keys and waits for those of the others. It lives until the ranks are connected.
//
// Protocol, all integers little-endian uint32: a request is a verb byte ('H' hello, 'S' set, 'G'
// get), the lengths of key and value, key, value; an answer is a status byte ('+' or '-'), a length
// and a text. 'H' carries the generation's name as its key: a worker of an older attempt, or
// another program's client, is told so and sent away. 'G' answers once somebody has set the key.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace keiko {

/// One file descriptor, closed with its owner.
class StoreSocket {
 public:
  explicit StoreSocket(int fd = -1) : fd_(fd) {}
  StoreSocket(StoreSocket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  StoreSocket& operator=(StoreSocket&& other) noexcept;
  ~StoreSocket();

  int fd() const { return fd_; }

 private:
  int fd_;
};

/// Serves the keys of one generation from threads of its own, one per client.
class TcpStoreServer {
 public:
  /// Listens on `host`:`port` (0: any free port) for the generation `name`.
  /// RETURNS: kUnavailable, naming address and cause, when it cannot.
  static Result<std::unique_ptr<TcpStoreServer>> open(const std::string& host, int port,
                                                      const std::string& name);
  ~TcpStoreServer();

  int port() const { return port_; }

 private:
  TcpStoreServer(StoreSocket listener, int port, std::string name);
  void accept_loop();
  void serve(int fd);
  bool answer(int fd, char verb, const std::string& key, std::string value, bool& greeted);
  Result<std::string> wait_for(const std::string& key);

  StoreSocket listener_;
  const int port_;
  const std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
  std::vector<StoreSocket> clients_;
  std::vector<std::thread> client_threads_;
  bool stopping_ = false;
  std::thread accept_thread_;
};

/// One rank's connection to the store. For one thread.
class TcpStoreClient {
 public:
  /// Dials until rank 0 listens, `timeout` at most.
  /// RETURNS: kDeadlineExceeded naming the address, or kFailedPrecondition when the listener is
  /// another generation's or another program's.
  static Result<std::unique_ptr<TcpStoreClient>> dial(const std::string& host, int port,
                                                      const std::string& name, Duration timeout);

  Done set(const std::string& key, const std::string& value);

  /// Waits for the key. RETURNS: kDeadlineExceeded naming the key after `timeout`.
  Result<std::string> get(const std::string& key, Duration timeout);

  /// RETURNS: the numeric address of this machine's end, which the other ranks can reach.
  Result<std::string> local_address() const;

 private:
  explicit TcpStoreClient(StoreSocket socket) : socket_(std::move(socket)) {}
  Result<std::string> call(char verb, const std::string& key, const std::string& value,
                           Duration timeout);

  StoreSocket socket_;
};

}  // namespace keiko
