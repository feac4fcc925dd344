// The driver against kernels of every shape: one played by a read call, files, fifos, sockets, and
// the machine's own log where it may be read.
#include "drivers/kmsg/kmsg_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>

#include "ports/kernel_log_conformance.h"

namespace keiko {
namespace {

/// A ring of records as the kernel keeps it: a reader that is too late gets EPIPE once.
class PlayedKernel {
 public:
  void say(const std::string& text) {
    ring_.push_back("4," + std::to_string(next_) + "," + std::to_string(next_) + ",-;" + text +
                    "\n");
    ++next_;
  }
  void say_nonsense() {
    ring_.push_back("no record\n");
    ++next_;
  }
  void overwrite(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) ring_.pop_front();
    too_late_ = true;
  }
  ssize_t read(void* buffer, size_t size) {
    ++calls;
    if (std::exchange(too_late_, false)) return fail(EPIPE);
    if (ring_.empty()) return fail(EAGAIN);
    const std::string record = ring_.front();
    ring_.pop_front();
    EXPECT_GE(size, record.size());
    std::memcpy(buffer, record.data(), record.size());
    return static_cast<ssize_t>(record.size());
  }
  int calls = 0;

 private:
  static ssize_t fail(int error) {
    errno = error;
    return -1;
  }
  std::deque<std::string> ring_;
  uint64_t next_ = 100;
  bool too_late_ = false;
};

/// A descriptor that is a character device, as /dev/kmsg is; reads go to the played kernel.
int device_descriptor() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

struct PlayedHarness {
  PlayedKernel kernel;
  KmsgLog reader{device_descriptor(),
                 [this](int, void* buffer, size_t size) { return kernel.read(buffer, size); }};
  KernelLog& log() { return reader; }
  void say(const std::string& text) { kernel.say(text); }
  void overwrite(uint64_t count) { kernel.overwrite(count); }
  void say_nonsense() { kernel.say_nonsense(); }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Played, KernelLogConformance, PlayedHarness);

class KmsgLogTest : public testing::Test {
 protected:
  KmsgLogTest() {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = std::string(base == nullptr ? "/tmp" : base) + "/keiko_kmsg_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ + "/kmsg";
  }
  ~KmsgLogTest() override { std::filesystem::remove_all(folder_); }

  void append(const std::string& bytes) const { std::ofstream(path_, std::ios::app) << bytes; }
  static std::vector<std::string> texts(const KernelLogBatch& batch) {
    std::vector<std::string> result;
    for (const KernelRecord& record : batch.records) result.push_back(record.text);
    return result;
  }

  std::string folder_;
  std::string path_;
};
using Texts = std::vector<std::string>;

TEST_F(KmsgLogTest, follows_a_file_that_grows) {
  KmsgLog log(path_);
  EXPECT_EQ(log.read(10).error().code, Code::kNotFound) << "it is not there yet";
  append("4,1,1,-;one\n SUBSYSTEM=pci\n4,2,2,-;tw");
  const KernelLogBatch first = MUST(log.read(10));
  EXPECT_EQ(texts(first), Texts{"one"}) << "the second is not whole yet";
  EXPECT_EQ(first.records[0].properties.at("SUBSYSTEM"), "pci");
  append("o\n4,3,3,-;three\n");
  EXPECT_EQ(texts(MUST(log.read(10))), (Texts{"two", "three"}));
  EXPECT_TRUE(MUST(log.read(10)).records.empty());
}

TEST_F(KmsgLogTest, tells_a_hole_that_the_kernel_did_not_tell) {
  append("4,7,1,-;seven\n4,12,1,-;twelve\n4,13,1,-;thirteen\n");
  KmsgLog log(path_);
  const KernelLogBatch batch = MUST(log.read(10));
  EXPECT_EQ(batch.records.size(), 3u);
  EXPECT_EQ(batch.lost, 4u) << "8, 9, 10 and 11; what was before the first is nobody's loss";
}

TEST_F(KmsgLogTest, takes_smaller_numbers_for_another_log) {
  append("4,70,1,-;before\n4,1,1,-;after a reboot\n");
  KmsgLog log(path_);
  const KernelLogBatch batch = MUST(log.read(10));
  EXPECT_EQ(batch.records.size(), 2u);
  EXPECT_EQ(batch.lost, 0u);
}

TEST_F(KmsgLogTest, reads_a_fifo_without_waiting_for_its_writer) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  KmsgLog log(path_);
  EXPECT_TRUE(MUST(log.read(10)).records.empty()) << "nobody writes yet";
  const int writer = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK);
  ASSERT_GE(writer, 0);
  const std::string bytes = "4,1,1,-;one\n4,2,2,-;two\n";
  ASSERT_EQ(::write(writer, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(texts(MUST(log.read(10))), (Texts{"one", "two"}));
  ::close(writer);
  EXPECT_TRUE(MUST(log.read(10)).records.empty());
}

TEST_F(KmsgLogTest, keeps_the_records_of_a_socket_of_messages_apart) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()), 0);
  KmsgLog log(ends[0]);
  for (const std::string record : {"4,1,1,-;torn", "4,2,2,-;whole\n", "rubbish"}) {
    ASSERT_GT(::send(ends[1], record.data(), record.size(), 0), 0);
  }
  const KernelLogBatch batch = MUST(log.read(10));
  EXPECT_EQ(texts(batch), (Texts{"torn", "whole"}));
  EXPECT_EQ(batch.unreadable, 1u);
  ::close(ends[1]);
}

TEST_F(KmsgLogTest, puts_the_records_of_a_stream_together_whatever_its_pieces) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  KmsgLog log(ends[0]);
  const std::string bytes = "4,1,1,-;one\n K=v\n4,2,2,-;two\n4,3,3,-;three\n";
  Texts seen;
  for (const char byte : bytes) {
    ASSERT_EQ(::send(ends[1], &byte, 1, 0), 1);
    for (const std::string& text : texts(MUST(log.read(10)))) seen.push_back(text);
  }
  EXPECT_EQ(seen, (Texts{"one", "two", "three"}));
  ::close(ends[1]);
}

TEST_F(KmsgLogTest, drops_a_line_without_end_instead_of_keeping_it) {
  append("4,1,1,-;one\n" + std::string(1'000'000, 'x'));
  KmsgLog log(path_);
  uint64_t unreadable = 0;
  size_t records = 0;
  for (int i = 0; i < 200; ++i) {
    const KernelLogBatch batch = MUST(log.read(10));
    unreadable += batch.unreadable;
    records += batch.records.size();
  }
  EXPECT_EQ(records, 1u);
  EXPECT_GT(unreadable, 0u);
  append("\n4,2,2,-;two\n");
  EXPECT_EQ(texts(MUST(log.read(10))), Texts{"two"});
}

TEST_F(KmsgLogTest, gives_each_of_10000_lines_however_they_are_written) {
  std::string bytes;
  for (int i = 1; i <= 10'000; ++i) {
    bytes += "4," + std::to_string(i) + "," + std::to_string(i) + ",-;line " + std::to_string(i);
    bytes += i % 7 == 0 ? "\n SUBSYSTEM=pci\n DEVICE=+pci:0000:c1:00.0\n" : "\n";
  }
  KmsgLog log(path_);
  size_t next = 1;
  for (size_t written = 0; written < bytes.size(); written += 1000) {
    append(bytes.substr(written, 1000));
    KernelLogBatch batch;
    do {
      batch = MUST(log.read(64));
      EXPECT_EQ(batch.lost + batch.unreadable, 0u);
      for (const KernelRecord& record : batch.records) {
        ASSERT_EQ(record.text, "line " + std::to_string(next++));
      }
    } while (batch.more);
  }
  EXPECT_EQ(next, 10'001u);
}

TEST_F(KmsgLogTest, ends_a_call_although_nonsense_never_ends) {
  PlayedKernel kernel;
  for (int i = 0; i < 1000; ++i) kernel.say_nonsense();
  KmsgLog log(device_descriptor(),
              [&](int, void* buffer, size_t size) { return kernel.read(buffer, size); });
  EXPECT_EQ(MUST(log.read(10)).unreadable, 10u);
  EXPECT_EQ(kernel.calls, 10);
}

TEST_F(KmsgLogTest, opens_the_log_again_after_an_error) {
  append("4,1,1,-;one\n");
  bool broken = true;
  KmsgLog log(path_, [&](int descriptor, void* buffer, size_t size) -> ssize_t {
    if (!broken) return ::read(descriptor, buffer, size);
    errno = EIO;
    return -1;
  });
  const auto refused = log.read(10);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_NE(refused.error().message.find(path_), std::string::npos);
  broken = false;
  EXPECT_EQ(texts(MUST(log.read(10))), Texts{"one"});
}

TEST_F(KmsgLogTest, reads_this_machines_own_log) {
  KmsgLog log;
  auto batch = log.read(50);
  if (!batch.ok()) GTEST_SKIP() << batch.error().message;
  ASSERT_FALSE(batch->records.empty());
  EXPECT_EQ(batch->unreadable, 0u);
  for (size_t i = 1; i < batch->records.size(); ++i) {
    EXPECT_GT(batch->records[i].sequence, batch->records[i - 1].sequence);
  }
}

}  // namespace
}  // namespace keiko
