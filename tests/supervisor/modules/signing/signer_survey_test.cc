// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/signing/signer_survey.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/modules/signing/content_hash.h"
#include "supervisor/modules/signing/key_file.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::TemporaryFolder;

class SignerSurveyTest : public ::testing::Test {
 protected:
  SignerSurveyTest() {
    for (const char* name : {"old", "new", "foreign"})
      EXPECT_TRUE(WriteNewKey(folder_ / name).ok());
    std::filesystem::create_directory(folder_ / "store");
    std::ofstream(folder_ / "a.so") << "content";
    file_ = Store("content");
  }

  // A stored file with that content.
  StoredFile Store(const std::string& content) {
    StoredFile file;
    file.path = folder_ / "store/new";
    std::ofstream(file.path, std::ios::trunc) << content;
    file.hash = HashOfFile(file.path).value();
    const std::string path = folder_ / ("store/" + file.hash);
    std::filesystem::rename(file.path, path);
    file.path = path;
    return file;
  }
  void Sign(const std::string& hash, const std::vector<std::string>& names) {
    std::vector<Signature> signatures;
    for (const std::string& name : names) {
      const PrivateKey key = ReadPrivateKey(folder_ / (name + ".key")).value();
      signatures.push_back({key.public_key().id(), key.Sign(SignedMessage(hash))});
    }
    std::ofstream(source() + ".sig", std::ios::trunc) << FormatSignatures(signatures);
  }
  ContentSigners Survey(const std::vector<std::string>& trusted = {"old", "new"}) {
    std::map<std::string, std::string> files;
    for (const std::string& name : trusted) files[name] = folder_ / (name + ".pub");
    std::vector<TrustedKeys::Problem> problems;
    SignerSurvey survey(TrustedKeys::Read(files, &problems), folder_ / "store");
    EXPECT_THAT(problems, IsEmpty());
    survey.Look(source(), file_);
    remarks_ = survey.remarks();
    auto signers = survey.TakeSigners();
    return signers.at(file_.hash);
  }
  std::string source() { return folder_ / "a.so"; }

  TemporaryFolder folder_;
  StoredFile file_;
  std::vector<std::string> remarks_;
};

TEST_F(SignerSurveyTest, FindsWhoSignedTheStoredContent) {
  Sign(file_.hash, {"old", "new", "foreign"});
  const ContentSigners signers = Survey();
  EXPECT_THAT(signers.names, ElementsAre("new", "old"));
  EXPECT_EQ(signers.remarks.at(source()), "");
  EXPECT_THAT(remarks_, IsEmpty());
}

TEST_F(SignerSurveyTest, SaysWhyNobodyDid) {
  EXPECT_THAT(Survey().remarks.at(source()), HasSubstr("there is no '" + source() + ".sig'"));
  Sign(file_.hash, {"foreign"});
  ContentSigners signers = Survey();
  EXPECT_THAT(signers.names, IsEmpty());
  EXPECT_THAT(signers.remarks.at(source()), HasSubstr("no signature by a key of"));
  Sign(std::string(64, '0'), {"old"});
  signers = Survey();
  EXPECT_THAT(signers.names, IsEmpty());
  EXPECT_THAT(signers.remarks.at(source()), HasSubstr("'old' is of other content"));
  std::ofstream(source() + ".sig", std::ios::trunc) << "cohost-signature 1\n";
  signers = Survey();
  EXPECT_THAT(signers.names, IsEmpty());
  EXPECT_THAT(signers.remarks.at(source()), HasSubstr("no signature in it"));
}

TEST_F(SignerSurveyTest, KnowsTheSignaturesWhenTheSourceIsGone) {
  Sign(file_.hash, {"old", "foreign"});
  EXPECT_THAT(Survey().names, ElementsAre("old"));
  std::filesystem::remove(source() + ".sig");
  std::filesystem::remove(source());
  EXPECT_THAT(Survey().names, ElementsAre("old"));
  // What counted for nothing then was not kept.
  EXPECT_THAT(Survey({"foreign"}).names, IsEmpty());
  EXPECT_THAT(SignatureStore(folder_ / "store").Find(file_.hash).value(), SizeIs(1));
}

TEST_F(SignerSurveyTest, KeptSignaturesAreVerifiedAgain) {
  Sign(file_.hash, {"old"});
  EXPECT_THAT(Survey().names, ElementsAre("old"));
  std::filesystem::remove(source() + ".sig");
  const SignatureStore kept(folder_ / "store");
  std::vector<Signature> signatures = kept.Find(file_.hash).value();
  signatures[0].bytes[0] = static_cast<char>(signatures[0].bytes[0] ^ 1);
  ASSERT_TRUE(kept.Keep(file_.hash, signatures).ok());
  EXPECT_THAT(Survey().names, IsEmpty());
}

TEST_F(SignerSurveyTest, ADamagedCopyIsSignedByNobody) {
  Sign(file_.hash, {"old"});
  std::ofstream(file_.path, std::ios::trunc) << "Content";
  ContentSigners signers = Survey();
  EXPECT_THAT(signers.names, IsEmpty());
  EXPECT_THAT(signers.remarks.at(source()), HasSubstr(file_.path));
  std::filesystem::remove(file_.path);
  EXPECT_THAT(Survey().names, IsEmpty());
}

TEST_F(SignerSurveyTest, ADerivedFileIsSignedByWhoSignedItsSource) {
  const std::string il(64, 'c');
  Sign(il, {"new"});
  EXPECT_THAT(Survey().names, IsEmpty());
  const DerivedRecords records(folder_ / "store");
  ASSERT_TRUE(records.Keep({il, file_.hash, "crossgen2 8.0.1", "", ""}).ok());
  EXPECT_THAT(Survey().names, ElementsAre("new"));
  std::filesystem::remove(source() + ".sig");
  EXPECT_THAT(Survey().names, ElementsAre("new")) << "kept under the hash that was signed";
  // A damaged record gives no trust.
  std::filesystem::remove(records.PathOf(file_.hash));
  std::ofstream(records.PathOf(file_.hash)) << "cohost-derived 1\n";
  EXPECT_THAT(Survey().names, IsEmpty());
  EXPECT_THAT(remarks_, SizeIs(1));
}

TEST_F(SignerSurveyTest, EqualContentIsSignedWhicheverSourceCarriesTheSignature) {
  Sign(file_.hash, {"old"});
  std::vector<TrustedKeys::Problem> problems;
  SignerSurvey survey(TrustedKeys::Read({{"old", folder_ / "old.pub"}}, &problems),
                      folder_ / "store");
  survey.Look(folder_ / "unsigned.so", file_);
  survey.Look(source(), file_);
  const auto signers = survey.TakeSigners();
  ASSERT_THAT(signers, SizeIs(1));
  EXPECT_THAT(signers.begin()->second.names, ElementsAre("old"));
}

TEST_F(SignerSurveyTest, SignaturesThatCannotBeKeptCountAllTheSame) {
  Sign(file_.hash, {"old"});
  std::ofstream(folder_ / "store/signatures") << "a file where the folder would be";
  EXPECT_THAT(Survey().names, ElementsAre("old"));
  EXPECT_FALSE(remarks_.empty());
}

}  // namespace
}  // namespace cohost::supervisor
