// A file descriptor that closes itself, and writing all of something to one.
#pragma once

#include <string_view>
#include <utility>

namespace keiko {

/// An owned file descriptor.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// Closes what it had.
  void reset(int fd = -1);

 private:
  int fd_;
};

/// Writes all of `bytes` to a descriptor that blocks. RETURNS: false with errno set if it cannot.
bool write_all(int fd, std::string_view bytes);

}  // namespace keiko
