// SPDX-License-Identifier: Apache-2.0
#include "supervisor/modules/signing/trusted_keys.h"

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "supervisor/modules/signing/key_file.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using testing::TemporaryFolder;

const std::string kHash(64, '1');
const std::string kOtherHash(64, '2');

class TrustedKeysTest : public ::testing::Test {
 protected:
  // Makes NAME.key and NAME.pub.
  Signature Sign(const std::string& name, const std::string& hash) {
    // ALREADY_EXISTS from the second time on.
    (void)WriteNewKey(folder_ / name);
    const PrivateKey key = ReadPrivateKey(folder_ / (name + ".key")).value();
    return {key.public_key().id(), key.Sign(SignedMessage(hash))};
  }
  std::string Path(const std::string& name) { return folder_ / (name + ".pub"); }

  TemporaryFolder folder_;
  std::vector<TrustedKeys::Problem> problems_;
};

TEST_F(TrustedKeysTest, OnlyGoodSignaturesOfKnownKeysCount) {
  const std::vector<Signature> signatures = {Sign("old", kHash), Sign("new", kOtherHash),
                                             Sign("foreign", kHash)};
  const TrustedKeys keys =
      TrustedKeys::Read({{"old", Path("old")}, {"new", Path("new")}}, &problems_);
  EXPECT_THAT(problems_, IsEmpty());
  EXPECT_THAT(keys.Check(kHash, signatures), ElementsAre(Key("old")));
  EXPECT_EQ(keys.Check(kHash, signatures).at("old"), signatures[0]);
  EXPECT_THAT(keys.Check(kOtherHash, signatures), ElementsAre(Key("new")));
  EXPECT_THAT(keys.Check(kHash, {}), IsEmpty());
  EXPECT_EQ(*keys.NameOf(signatures[0].key_id), "old");
  EXPECT_EQ(keys.NameOf(signatures[2].key_id), nullptr);
}

TEST_F(TrustedKeysTest, ASignatureUnderAnotherKeysIdIsNotGood) {
  Signature signature = Sign("foreign", kHash);
  signature.key_id = Sign("known", kHash).key_id;
  const TrustedKeys keys = TrustedKeys::Read({{"known", Path("known")}}, &problems_);
  EXPECT_THAT(keys.Check(kHash, {signature}), IsEmpty());
}

TEST_F(TrustedKeysTest, EveryKeyThatCannotBeUsedIsAProblem) {
  Sign("good", kHash);
  std::ofstream(folder_ / "bad.pub") << "nothing";
  const TrustedKeys keys = TrustedKeys::Read(
      {{"bad", Path("bad")}, {"good", Path("good")}, {"missing", Path("missing")}}, &problems_);
  ASSERT_EQ(problems_.size(), 2u);
  EXPECT_EQ(problems_[0].name, "bad");
  EXPECT_EQ(problems_[0].status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(problems_[1].name, "missing");
  EXPECT_EQ(problems_[1].status.code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(keys.empty());
}

TEST_F(TrustedKeysTest, OneKeyUnderTwoNamesIsAMistake) {
  Sign("old", kHash);
  TrustedKeys::Read({{"new", Path("old")}, {"old", Path("old")}}, &problems_);
  ASSERT_EQ(problems_.size(), 1u);
  EXPECT_EQ(problems_[0].name, "old");
  EXPECT_THAT(std::string(problems_[0].status.message()), HasSubstr("same key as 'new'"));
}

}  // namespace
}  // namespace cohost::supervisor
