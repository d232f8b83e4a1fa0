// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace cohost {
namespace {

std::string HashOf(std::string_view text) {
  Sha256 hash;
  hash.Update(text);
  return HexDigest(hash.Finish());
}

// The examples of NIST for FIPS 180-4.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(HashOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HashOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(HashOf("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                   "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(HashOf(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, NothingHasAHashToo) {
  constexpr std::string_view kEmpty =
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  Sha256 untouched;
  EXPECT_EQ(HexDigest(untouched.Finish()), kEmpty);
  EXPECT_EQ(HashOf(""), kEmpty);
  EXPECT_EQ(HashOf(std::string_view()), kEmpty);
}

// 55 bytes are the most that one block holds with padding and length, 64 are one block.
TEST(Sha256, LengthsAroundTheBlock) {
  const auto hash_of = [](size_t length) { return HashOf(std::string(length, 'a')); };
  EXPECT_EQ(hash_of(55), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(hash_of(56), "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(hash_of(63), "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
  EXPECT_EQ(hash_of(64), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  EXPECT_EQ(hash_of(65), "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0");
}

TEST(Sha256, PartsAreTheWhole) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>(i);  // NUL and bytes above 127 among them
  const std::string whole = HashOf(text);
  for (size_t part = 1; part < text.size(); ++part) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += part) {
      hash.Update(std::string_view(text).substr(at, part));
      hash.Update("");
    }
    EXPECT_EQ(HexDigest(hash.Finish()), whole) << part;
  }
}

TEST(Sha256, TwoAtATimeDoNotMix) {
  Sha256 first;
  Sha256 second;
  first.Update("a");
  second.Update("x");
  first.Update("bc");
  EXPECT_EQ(HexDigest(first.Finish()), HashOf("abc"));
  EXPECT_EQ(HexDigest(second.Finish()), HashOf("x"));
}

TEST(HexDigest, IsLowerCaseAndKeepsZeros) {
  Sha256Digest digest{};
  digest[0] = 0x0a;
  digest[1] = 0xf0;
  digest[31] = 0xff;
  EXPECT_EQ(HexDigest(digest), "0af0" + std::string(58, '0') + "ff");
}

}  // namespace
}  // namespace cohost
