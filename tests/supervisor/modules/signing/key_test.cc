// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/signing/key.h"

#include <string>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/modules/signing/signature_text.h"
#include "tests/supervisor/modules/signing/key_texts.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(Key, ReadsAndWritesThePemOfOpenssl) {
  const auto secret = PrivateKey::Parse(kRfcPrivateKey);
  ASSERT_TRUE(secret.ok()) << secret.status();
  EXPECT_EQ(secret->ToPem(), kRfcPrivateKey);
  const auto key = PublicKey::Parse(kRfcPublicKey);
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_EQ(key->ToPem(), kRfcPublicKey);
  EXPECT_EQ(*key, secret->public_key());
  EXPECT_EQ(key->id(), kRfcKeyId);
}

TEST(Key, SignsAsOpensslDoes) {
  const auto secret = PrivateKey::Parse(kRfcPrivateKey);
  ASSERT_TRUE(secret.ok());
  const std::string message = SignedMessage(kAbcHash);
  const std::string signature = secret->Sign(message);
  EXPECT_EQ(absl::Base64Escape(signature), kAbcSignature);
  EXPECT_TRUE(PublicKey::Parse(kRfcPublicKey)->Verify(message, signature));
}

TEST(Key, ASignatureIsGoodForItsMessageAndItsKeyOnly) {
  const PrivateKey one = PrivateKey::Generate().value();
  const PrivateKey other = PrivateKey::Generate().value();
  EXPECT_NE(one.public_key().id(), other.public_key().id());
  const std::string signature = one.Sign("message");
  ASSERT_EQ(signature.size(), kSignatureSize);
  EXPECT_TRUE(one.public_key().Verify("message", signature));
  EXPECT_FALSE(one.public_key().Verify("Message", signature));
  EXPECT_FALSE(other.public_key().Verify("message", signature));
  for (size_t i = 0; i < signature.size(); ++i) {
    std::string altered = signature;
    altered[i] = static_cast<char>(altered[i] ^ 1);
    EXPECT_FALSE(one.public_key().Verify("message", altered)) << i;
  }
  EXPECT_FALSE(one.public_key().Verify("message", signature.substr(1)));
  EXPECT_FALSE(one.public_key().Verify("message", signature + "x"));
  EXPECT_FALSE(one.public_key().Verify("message", ""));
  EXPECT_FALSE(one.public_key().Verify("message", std::string(kSignatureSize, '\0')));
}

TEST(Key, OtherAlgorithmsAreRefused) {
  for (const char* pem : {kX25519PublicKey, kEcPublicKey}) {
    const auto key = PublicKey::Parse(pem);
    EXPECT_EQ(key.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(key.status().message()), HasSubstr("Ed25519"));
  }
}

TEST(Key, APassphraseIsNotAskedFor) {
  EXPECT_THAT(std::string(PrivateKey::Parse(kEncryptedPrivateKey).status().message()),
              HasSubstr("passphrase"));
  // The older form, under the label of a plain key.
  const std::string old = Replaced(kRfcPrivateKey, "KEY-----\n",
                                   "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: "
                                   "AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n");
  EXPECT_EQ(PrivateKey::Parse(old).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Key, TheOtherHalfIsNamed) {
  EXPECT_THAT(std::string(PublicKey::Parse(kRfcPrivateKey).status().message()),
              HasSubstr("private"));
  EXPECT_THAT(std::string(PrivateKey::Parse(kRfcPublicKey).status().message()),
              HasSubstr("public"));
}

TEST(Key, ATextWithTwoKeysIsNone) {
  EXPECT_FALSE(PublicKey::Parse(std::string(kRfcPublicKey) + kRfcPublicKey).ok());
  EXPECT_FALSE(PublicKey::Parse(std::string(kRfcPublicKey) + kRfcPrivateKey).ok());
  EXPECT_TRUE(PublicKey::Parse(std::string("of the release team\n") + kRfcPublicKey).ok());
}

TEST(Key, ATornOrAlteredTextIsNone) {
  const std::string text = kRfcPublicKey;
  // The line break at the end is not needed.
  for (size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_EQ(PublicKey::Parse(text.substr(0, length)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << length;
  }
  EXPECT_FALSE(PublicKey::Parse(Replaced(text, "MCow", "MCox")).ok());
  EXPECT_FALSE(PublicKey::Parse(Replaced(text, "MCow", "MC!w")).ok());
  EXPECT_FALSE(PublicKey::Parse(std::string(10'000, '\0')).ok());
}

}  // namespace
}  // namespace cohost::supervisor
