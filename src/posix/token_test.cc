#include "posix/token.h"

#include <gtest/gtest.h>

#include <set>

namespace keiko {
namespace {

TEST(RandomToken, is_32_digits_and_never_the_same) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string token = random_token();
    EXPECT_EQ(token.size(), 32u);
    EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos) << token;
    EXPECT_TRUE(seen.insert(token).second);
  }
}

}  // namespace
}  // namespace keiko
