// The kernel's log by /dev/kmsg, or by anything that holds such records: a file, a fifo, a socket.
//
// The device and sockets of messages give one record a read. Streams give bytes; there a record
// ends where a line ends and the next one does not begin with a space. Reads do not block, memory
// is bounded by kMaxPendingBytes, and a hole in the sequence numbers is counted, whether the kernel
// said so (EPIPE) or not. For one thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ports/kernel_log.h"

namespace keiko {

class KmsgLog : public KernelLog {
 public:
  /// A stream without the end of a record in so many bytes has lost its mind; they are dropped.
  static constexpr size_t kMaxPendingBytes = 4 * kMaxKernelRecordBytes;

  /// How bytes are read: read(2), or what a test puts in its place.
  using ReadCall = std::function<ssize_t(int, void*, size_t)>;

  /// `path`: the log; opened at the first read, and again after an error.
  explicit KmsgLog(std::string path = "/dev/kmsg", ReadCall read_call = {});
  /// Reads from a descriptor that somebody opened, for example a socket, and closes it at the end.
  explicit KmsgLog(int descriptor, ReadCall read_call = {});
  ~KmsgLog() override;
  KmsgLog(const KmsgLog&) = delete;
  KmsgLog& operator=(const KmsgLog&) = delete;

  Result<KernelLogBatch> read(size_t most) override;

 private:
  enum class Step { kGoOn, kNothingNow };

  Done open_log();
  void close_log();
  Result<Step> read_once(KernelLogBatch& batch);
  Result<Step> failed_read(int error, KernelLogBatch& batch);
  void take_stream(size_t most, KernelLogBatch& batch);
  void take_record(std::string_view bytes, KernelLogBatch& batch);

  std::string path_;
  ReadCall read_call_;
  int descriptor_ = -1;
  bool by_record_ = false;     ///< one read gives one record
  std::string pending_;        ///< of a stream: bytes of which no whole record was taken yet
  bool stream_at_end_ = false; ///< nothing came at the last read
  uint64_t next_sequence_ = 0; ///< 0: none was seen yet
};

}  // namespace keiko
