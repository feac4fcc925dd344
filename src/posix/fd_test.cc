#include "posix/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <thread>

namespace keiko {
namespace {

bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

TEST(Fd, closes_what_it_has_once) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Fd first(ends[0]);
  Fd other(ends[1]);
  {
    const Fd moved(std::move(first));
    EXPECT_EQ(moved.get(), ends[0]);
    EXPECT_FALSE(first);  // NOLINT: what a moved one is, is the question
  }
  EXPECT_FALSE(is_open(ends[0]));
  EXPECT_TRUE(is_open(ends[1]));
  other = Fd(dup(ends[1]));
  EXPECT_FALSE(is_open(ends[1]));
}

TEST(WriteAll, writes_more_than_the_other_side_takes_at_once) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Fd out(ends[0]);
  Fd in(ends[1]);
  const std::string text(1'000'000, 'x');
  std::string got;
  std::thread reader([&] {
    char buffer[1000];
    ssize_t count = 0;
    while ((count = read(out.get(), buffer, sizeof buffer)) > 0) {
      got.append(buffer, static_cast<size_t>(count));
    }
  });
  EXPECT_TRUE(write_all(in.get(), text));
  in.reset();
  reader.join();
  EXPECT_EQ(got, text);
}

TEST(WriteAll, says_why_not) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Fd in(ends[1]);
  close(ends[0]);
  signal(SIGPIPE, SIG_IGN);
  EXPECT_FALSE(write_all(in.get(), "x"));
  EXPECT_EQ(errno, EPIPE);
}

}  // namespace
}  // namespace keiko
