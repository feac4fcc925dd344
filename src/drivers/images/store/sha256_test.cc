#include "drivers/images/store/sha256.h"

#include <gtest/gtest.h>

namespace keiko::images {
namespace {

// The vectors of FIPS 180-4's examples, and of a million times "a".
TEST(Sha256, gives_the_standard_s_digests) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, does_not_care_in_which_pieces_bytes_come) {
  const std::string text(1000, 'k');
  for (const size_t piece : {1U, 63U, 64U, 65U, 500U}) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += piece) hash.add(text.substr(at, piece));
    EXPECT_EQ(hash.finish(), sha256_of(text)) << piece;
  }
}

}  // namespace
}  // namespace keiko::images
