#include "base/text.h"

#include <gtest/gtest.h>

namespace keiko {
namespace {

TEST(NumberList, is_read_whole_or_not_at_all) {
  EXPECT_EQ(parse_number_list("0-2,8\n"), (std::vector<int32_t>{0, 1, 2, 8}));
  for (const char* text : {"", "\n", "0-", "3-1", "0-2,x", "0-99999999", "-1", "1-2-3"}) {
    EXPECT_TRUE(parse_number_list(text).empty()) << text;
  }
}

}  // namespace
}  // namespace keiko
