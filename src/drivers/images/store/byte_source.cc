#include "drivers/images/store/byte_source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace keiko::images {
namespace {

constexpr size_t kChunk = 256 * 1024;
constexpr const char* kGzip = "\x1f\x8b";

}  // namespace

Result<size_t> FileRange::read(char* buffer, size_t size) {
  const auto wanted = std::min<uint64_t>(size, static_cast<uint64_t>(left_));
  if (wanted == 0) return size_t{0};
  ssize_t got = 0;
  while ((got = pread(fd_, buffer, wanted, offset_)) < 0 && errno == EINTR) continue;
  if (got < 0) return errno_error("cannot read", errno);
  if (got == 0) return data_loss("it is cut short");
  offset_ += got;
  left_ -= got;
  return static_cast<size_t>(got);
}

Result<size_t> HashedSource::read(char* buffer, size_t size) {
  const size_t got = TRY(source_->read(buffer, size));
  hash_.add({buffer, got});
  return got;
}

Done HashedSource::check(const std::string& wanted) {
  std::string rest(kChunk, '\0');
  while (TRY(read(rest.data(), rest.size())) > 0) continue;
  const std::string found = hash_.finish();
  if (found == wanted) return done();
  return data_loss("the part sha256:" + wanted + " is damaged: its digest is " + found);
}

GunzipSource::GunzipSource(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {
  inflateInit2(&stream_, 16 + MAX_WBITS);  // 16: gzip's frame
}

GunzipSource::~GunzipSource() { inflateEnd(&stream_); }

Result<bool> GunzipSource::refill() {
  input_.resize(kChunk);
  const size_t got = TRY(source_->read(input_.data(), input_.size()));
  stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
  stream_.avail_in = static_cast<uInt>(got);
  return got > 0;
}

Result<size_t> GunzipSource::read(char* buffer, size_t size) {
  stream_.next_out = reinterpret_cast<Bytef*>(buffer);
  stream_.avail_out = static_cast<uInt>(std::min(size, kChunk));
  const uInt room = stream_.avail_out;
  while (stream_.avail_out == room) {
    if (stream_.avail_in == 0 && !TRY(refill())) {
      if (inside_) return data_loss("its gzip data are cut short");
      break;
    }
    inside_ = true;
    const int told = inflate(&stream_, Z_NO_FLUSH);
    if (told == Z_STREAM_END) {
      // Files of several members are one after another what their members are.
      inside_ = false;
      inflateReset(&stream_);
    } else if (told != Z_OK && told != Z_BUF_ERROR) {
      return data_loss("its gzip data are damaged");
    }
  }
  return static_cast<size_t>(room - stream_.avail_out);
}

bool is_packed(const std::string& head) {
  return head.starts_with(kGzip) || head.starts_with("\x28\xb5\x2f\xfd") ||
         head.starts_with("BZh") || head.starts_with("\xfd" "7zXZ");
}

Result<std::unique_ptr<ByteSource>> unpacked(std::unique_ptr<ByteSource> source,
                                             const std::string& head) {
  if (!is_packed(head)) return source;
  if (head.starts_with(kGzip)) {
    return std::unique_ptr<ByteSource>(std::make_unique<GunzipSource>(std::move(source)));
  }
  return failed_precondition("it is packed by zstd, bzip2 or xz, and gzip alone is read here; "
                             "`skopeo copy --dest-compress-format gzip` packs it anew");
}

}  // namespace keiko::images
