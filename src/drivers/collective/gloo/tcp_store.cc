#include "drivers/collective/gloo/tcp_store.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/check.h"

namespace keiko {
namespace {

// No key or value of a rendezvous is near this; a length above it is not our protocol.
constexpr uint32_t kLargestField = 1 << 20;
constexpr auto kFirstRetry = std::chrono::milliseconds(2);
constexpr auto kLastRetry = std::chrono::milliseconds(100);
constexpr std::string_view kMagic = "keiko-store-1 ";

std::string place(const std::string& host, int port) { return host + ":" + std::to_string(port); }

struct AddressList {
  addrinfo* first = nullptr;
  AddressList() = default;
  AddressList(AddressList&& other) noexcept : first(std::exchange(other.first, nullptr)) {}
  ~AddressList() {
    if (first != nullptr) freeaddrinfo(first);
  }
};

Result<AddressList> resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  AddressList list;
  const int rc =
      getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list.first);
  if (rc != 0) {
    return unavailable("MASTER_ADDR '" + host + "' cannot be resolved: " + gai_strerror(rc));
  }
  return list;
}

bool send_all(int fd, const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

bool receive_all(int fd, void* to, size_t size) {
  char* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t n = ::recv(fd, at, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

void put_length(std::string& out, size_t length) {
  const auto value = static_cast<uint32_t>(length);
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift);
}

bool receive_length(int fd, uint32_t& length) {
  unsigned char raw[4];
  if (!receive_all(fd, raw, 4)) return false;
  length = 0;
  for (int i = 3; i >= 0; --i) length = length << 8 | raw[i];
  return length <= kLargestField;
}

bool receive_text(int fd, uint32_t length, std::string& text) {
  text.resize(length);
  return receive_all(fd, text.data(), length);
}

void set_receive_timeout(int fd, Duration timeout) {
  const int64_t us = std::max<int64_t>(timeout.ns / 1000, 1000);
  timeval limit{};
  limit.tv_sec = us / 1'000'000;
  limit.tv_usec = us % 1'000'000;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

Result<StoreSocket> listen_on(const addrinfo& address) {
  StoreSocket socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0) return errno_error("socket", errno);
  const int on = 1;
  setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(socket.fd(), address.ai_addr, address.ai_addrlen) != 0) {
    return errno_error("bind", errno);
  }
  if (listen(socket.fd(), 1024) != 0) return errno_error("listen", errno);
  return socket;
}

int port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
  }
  return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

}  // namespace

StoreSocket& StoreSocket::operator=(StoreSocket&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

StoreSocket::~StoreSocket() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::unique_ptr<TcpStoreServer>> TcpStoreServer::open(const std::string& host, int port,
                                                             const std::string& name) {
  const AddressList addresses = TRY(resolve(host, port));
  std::string cause = "no address";
  for (const addrinfo* at = addresses.first; at != nullptr; at = at->ai_next) {
    Result<StoreSocket> socket = listen_on(*at);
    if (!socket.ok()) {
      cause = socket.error().message;
      continue;
    }
    const int bound = port_of(socket->fd());
    return std::unique_ptr<TcpStoreServer>(
        new TcpStoreServer(std::move(*socket), bound, name));
  }
  return unavailable("rank 0 cannot listen on MASTER_ADDR:MASTER_PORT " + place(host, port) +
                     ": " + cause +
                     ". Is another program on that port, or is the address not this machine's?");
}

TcpStoreServer::TcpStoreServer(StoreSocket listener, int port, std::string name)
    : listener_(std::move(listener)),
      port_(port),
      name_(std::string(kMagic) + name),
      accept_thread_([this] { accept_loop(); }) {}

TcpStoreServer::~TcpStoreServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    shutdown(listener_.fd(), SHUT_RDWR);
    for (const StoreSocket& client : clients_) shutdown(client.fd(), SHUT_RDWR);
    changed_.notify_all();
  }
  accept_thread_.join();
  for (std::thread& thread : client_threads_) thread.join();
}

void TcpStoreServer::accept_loop() {
  while (true) {
    StoreSocket client(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    if (client.fd() < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return;
    }
    const int fd = client.fd();
    clients_.push_back(std::move(client));
    client_threads_.emplace_back([this, fd] { serve(fd); });
  }
}

void TcpStoreServer::serve(int fd) {
  bool greeted = false;
  while (true) {
    char verb = 0;
    uint32_t key_length = 0;
    uint32_t value_length = 0;
    std::string key;
    std::string value;
    const bool whole = receive_all(fd, &verb, 1) && receive_length(fd, key_length) &&
                       receive_length(fd, value_length) && receive_text(fd, key_length, key) &&
                       receive_text(fd, value_length, value);
    if (!whole || !answer(fd, verb, key, std::move(value), greeted)) break;
  }
  shutdown(fd, SHUT_RDWR);
}

bool TcpStoreServer::answer(int fd, char verb, const std::string& key, std::string value,
                            bool& greeted) {
  Result<std::string> text = std::string();
  if (verb == 'H') {
    greeted = key == name_;
    if (!greeted) text = failed_precondition("this store serves '" + name_ + "'");
  } else if (!greeted) {
    text = failed_precondition("say hello first");
  } else if (verb == 'S') {
    const std::lock_guard lock(mutex_);
    values_[key] = std::move(value);
    changed_.notify_all();
  } else if (verb == 'G') {
    text = wait_for(key);
  } else {
    text = invalid_argument("unknown verb");
  }
  std::string reply(1, text.ok() ? '+' : '-');
  const std::string& body = text.ok() ? *text : text.error().message;
  put_length(reply, body.size());
  reply += body;
  return send_all(fd, reply) && greeted;
}

Result<std::string> TcpStoreServer::wait_for(const std::string& key) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || values_.contains(key); });
  const auto found = values_.find(key);
  if (found == values_.end()) return unavailable("rank 0 closed the store");
  return found->second;
}

Result<std::unique_ptr<TcpStoreClient>> TcpStoreClient::dial(const std::string& host, int port,
                                                             const std::string& name,
                                                             Duration timeout) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::nanoseconds(timeout.ns);
  auto pause = kFirstRetry;
  std::string cause = "no address";
  while (true) {
    const AddressList addresses = TRY(resolve(host, port));
    for (const addrinfo* at = addresses.first; at != nullptr; at = at->ai_next) {
      StoreSocket socket(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (socket.fd() < 0) return errno_error("socket", errno);
      // A black-holed address must not eat the deadline in one connect().
      timeval limit{5, 0};
      setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
      if (connect(socket.fd(), at->ai_addr, at->ai_addrlen) != 0) {
        cause = std::strerror(errno);
        continue;
      }
      const int on = 1;
      setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      auto client = std::unique_ptr<TcpStoreClient>(new TcpStoreClient(std::move(socket)));
      const Duration left{std::chrono::nanoseconds(deadline - Clock::now()).count()};
      const auto hello = client->call('H', std::string(kMagic) + name, "", left);
      if (hello.ok()) return client;
      if (hello.error().code == Code::kFailedPrecondition) {
        return failed_precondition(place(host, port) + " belongs to another run: " +
                                   hello.error().message + ", this rank is of '" + name + "'");
      }
      cause = hello.error().message;
    }
    if (Clock::now() + pause >= deadline) break;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLastRetry);
  }
  return deadline_exceeded("no rank 0 at MASTER_ADDR:MASTER_PORT " + place(host, port) +
                           " within " + to_text(timeout) + " (" + cause +
                           "). Has rank 0 started, and is the address right?");
}

Done TcpStoreClient::set(const std::string& key, const std::string& value) {
  TRY(call('S', key, value, seconds(30)));
  return done();
}

Result<std::string> TcpStoreClient::get(const std::string& key, Duration timeout) {
  return call('G', key, "", timeout);
}

Result<std::string> TcpStoreClient::call(char verb, const std::string& key,
                                         const std::string& value, Duration timeout) {
  std::string request(1, verb);
  put_length(request, key.size());
  put_length(request, value.size());
  request += key;
  request += value;
  if (!send_all(socket_.fd(), request)) return unavailable("the store's connection broke");
  set_receive_timeout(socket_.fd(), timeout);
  char status = 0;
  uint32_t length = 0;
  std::string text;
  errno = 0;
  if (!receive_all(socket_.fd(), &status, 1)) {
    if (errno != EAGAIN && errno != EWOULDBLOCK) return unavailable("rank 0 closed the store");
    return deadline_exceeded("waited " + to_text(timeout) + " for " + key);
  }
  if ((status != '+' && status != '-') || !receive_length(socket_.fd(), length) ||
      !receive_text(socket_.fd(), length, text)) {
    return failed_precondition("the listener does not speak the store's protocol");
  }
  if (status == '-') return failed_precondition(text);
  return text;
}

Result<std::string> TcpStoreClient::local_address() const {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(socket_.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return errno_error("getsockname", errno);
  }
  char text[NI_MAXHOST];
  const int rc = getnameinfo(reinterpret_cast<sockaddr*>(&address), size, text, sizeof(text),
                             nullptr, 0, NI_NUMERICHOST);
  if (rc != 0) return unavailable(std::string("getnameinfo: ") + gai_strerror(rc));
  return std::string(text);
}

}  // namespace keiko
