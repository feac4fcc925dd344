// Bytes that are read once, front to back: a range of a file, what gzip made of another source, and
// a source whose digest is taken on the way. For one thread.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "drivers/images/store/sha256.h"

namespace keiko::images {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// RETURNS: how many bytes were put into `buffer`, 0 at the end; an Error if there is none.
  virtual Result<size_t> read(char* buffer, size_t size) = 0;
};

/// A range of an open file, which stays the caller's. One that ends too early is kDataLoss.
class FileRange : public ByteSource {
 public:
  FileRange(int fd, int64_t offset, int64_t size) : fd_(fd), offset_(offset), left_(size) {}
  Result<size_t> read(char* buffer, size_t size) override;

 private:
  const int fd_;
  int64_t offset_;
  int64_t left_;
};

class HashedSource : public ByteSource {
 public:
  explicit HashedSource(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}
  Result<size_t> read(char* buffer, size_t size) override;
  /// Reads what is left. RETURNS: kDataLoss unless the digest of it all is `wanted`, in hex.
  Done check(const std::string& wanted);

 private:
  std::unique_ptr<ByteSource> source_;
  Sha256 hash_;
};

class GunzipSource : public ByteSource {
 public:
  explicit GunzipSource(std::unique_ptr<ByteSource> source);
  ~GunzipSource() override;
  Result<size_t> read(char* buffer, size_t size) override;

 private:
  Result<bool> refill();

  std::unique_ptr<ByteSource> source_;
  z_stream stream_{};
  std::string input_;
  bool inside_ = false;   ///< a member has begun and not ended
};

/// RETURNS: whether first bytes are of something packed, by gzip or otherwise.
bool is_packed(const std::string& head);

/// RETURNS: `source` itself, or what it holds if its first bytes (`head`) say that it is packed.
Result<std::unique_ptr<ByteSource>> unpacked(std::unique_ptr<ByteSource> source,
                                             const std::string& head);

}  // namespace keiko::images
