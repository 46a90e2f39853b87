// SHA-256 against the known answers of FIPS 180-4 and of sha256sum.
#include "parsers/core/sha256.h"

#include <gtest/gtest.h>

namespace bertbench {
namespace {

TEST(Sha256Test, GivesTheKnownAnswers) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, DoesNotDependOnThePieces) {
  for (std::size_t size = 0; size < 200; ++size) {
    const std::string text(size, 'x');
    Sha256 sum;
    for (std::size_t i = 0; i < size; i += 7) sum.add(std::string_view(text).substr(i, 7));
    EXPECT_EQ(sum.hex(), sha256(text)) << size;
  }
}

}  // namespace
}  // namespace bertbench
