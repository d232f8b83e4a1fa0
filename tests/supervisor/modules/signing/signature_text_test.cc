// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/signing/signature_text.h"

#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/modules/signing/key.h"
#include "tests/supervisor/modules/signing/key_texts.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

// Two signatures, of 64 bytes each.
std::vector<Signature> Two() {
  return {{std::string(64, 'a'), std::string(64, '\x01')},
          {std::string(64, 'b'), std::string(64, '\xff')}};
}

std::string Line(const std::string& key, const std::string& signature) {
  return absl::StrCat("cohost-signature 1\n", key, " ", signature, "\n");
}

void ExpectBad(const std::string& text, const std::string& part) {
  const auto signatures = ParseSignatures(text);
  EXPECT_EQ(signatures.status().code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_THAT(std::string(signatures.status().message()), HasSubstr(part));
}

TEST(SignatureText, ReadsBackWhatWasWritten) {
  EXPECT_EQ(ParseSignatures(FormatSignatures(Two())).value(), Two());
}

TEST(SignatureText, IsWhatTheHeaderSpecifies) {
  EXPECT_EQ(SignedMessage("ab"), "cohost-signature 1\nab\n");
  const auto signatures = ParseSignatures(Line(kRfcKeyId, kAbcSignature));
  ASSERT_TRUE(signatures.ok()) << signatures.status();
  ASSERT_EQ(signatures->size(), 1u);
  EXPECT_TRUE(
      PublicKey::Parse(kRfcPublicKey)->Verify(SignedMessage(kAbcHash), signatures->at(0).bytes));
  EXPECT_EQ(FormatSignatures(*signatures), Line(kRfcKeyId, kAbcSignature));
}

TEST(SignatureText, ATornTextCountsAsNoSignatureWhereverItEnds) {
  const std::string text = FormatSignatures(Two());
  const size_t first = text.find('\n', text.find('\n') + 1) + 1;
  for (size_t length = 0; length < text.size(); ++length) {
    // Whole lines alone are a text of fewer signatures.
    EXPECT_EQ(ParseSignatures(text.substr(0, length)).ok(), length == first) << length;
  }
}

TEST(SignatureText, AnotherVersionIsNotGuessedAt) {
  const std::string text = FormatSignatures(Two());
  ExpectBad("cohost-signature 2" + text.substr(18), "line 1: expected 'cohost-signature 1'");
  ExpectBad("\xef\xbb\xbf" + text, "line 1");
  ExpectBad(text.substr(19), "line 1");
  ExpectBad("cohost-signature 1\r\n" + text.substr(19), "line 1");
}

TEST(SignatureText, AMalformedLineMakesTheWholeTextUnreadable) {
  const std::string key(64, 'a');
  const std::string good = kAbcSignature;
  ExpectBad(Line(key, good) + "\n", "line 3");
  ExpectBad(Line(key, good) + "# comment\n", "line 3");
  ExpectBad(Line(std::string(63, 'a'), good), "line 2: expected the id of a key");
  ExpectBad(Line(std::string(64, 'A'), good), "line 2");
  ExpectBad(Line(key, ""), "line 2: the signature is not 64 bytes");
  ExpectBad(Line(key, good.substr(4)), "not 64 bytes");
  ExpectBad(Line(key, "AAAA" + good), "not 64 bytes");
  ExpectBad(Line(key, good + "\r"), "not 64 bytes");
  ExpectBad(Line(key, " " + good), "not 64 bytes");
  // Other spellings of the same bytes: without padding, of the other alphabet, with a bit too many.
  ExpectBad(Line(key, good.substr(0, 86)), "not 64 bytes");
  std::string altered = good;
  altered[85] = 'R';
  ExpectBad(Line(key, altered), "not 64 bytes");
  ExpectBad(Line(key, std::string("a\0b", 3)), "not 64 bytes");
  ExpectBad("", "no signature");
  ExpectBad("cohost-signature 1\n", "no signature");
}

TEST(SignatureText, LengthsAndNumbersAreBounded) {
  std::vector<Signature> most;
  for (int i = 10; i < 42; ++i) {
    most.push_back({absl::StrCat(std::string(62, 'a'), i), std::string(64, 'x')});
  }
  EXPECT_EQ(ParseSignatures(FormatSignatures(most)).value(), most);
  most.push_back({std::string(64, 'b'), std::string(64, 'x')});
  ExpectBad(FormatSignatures(most), "line 34: more than 32");
  ExpectBad(Line(std::string(64, 'a'), std::string(70'000, 'A')), "longer than 64Ki");
  most = {Two()[0], Two()[0]};
  ExpectBad(FormatSignatures(most), "line 3: a second signature by the same key");
}

TEST(SignatureText, ASecondSignatureByAKeyTakesThePlaceOfTheFirst) {
  std::vector<Signature> signatures = Two();
  PutSignature({std::string(64, 'a'), std::string(64, 'n')}, signatures);
  PutSignature({std::string(64, 'c'), std::string(64, 'n')}, signatures);
  ASSERT_EQ(signatures.size(), 3u);
  EXPECT_EQ(signatures[0].bytes, std::string(64, 'n'));
  EXPECT_EQ(signatures[1], Two()[1]);
  EXPECT_EQ(signatures[2].key_id, std::string(64, 'c'));
}

TEST(SignatureText, StandsBesideTheFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(SignatureFileOf("/a/b.so"), "/a/b.so.sig");
  EXPECT_EQ(ReadSignaturesOf(folder / "a").status().code(), absl::StatusCode::kNotFound);
  std::ofstream(folder / "a.sig") << FormatSignatures(Two());
  EXPECT_EQ(ReadSignaturesOf(folder / "a").value(), Two());
  std::ofstream(folder / "b.sig") << "torn";
  EXPECT_THAT(std::string(ReadSignaturesOf(folder / "b").status().message()),
              HasSubstr(folder / "b.sig"));
  std::ofstream(folder / "c.sig") << std::string(100'000, 'x');
  EXPECT_EQ(ReadSignaturesOf(folder / "c").status().code(), absl::StatusCode::kResourceExhausted);
  ASSERT_EQ(mkfifo((folder / "d.sig").c_str(), 0600), 0);
  EXPECT_EQ(ReadSignaturesOf(folder / "d").status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace cohost::supervisor
