// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/signature_requirement.h"

#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Services that placement puts where it wants: "named" into the group that it names, "matched" into
// the one that matches its class, "derived" into one that placement makes.
class SignatureRequirementTest : public ::testing::Test {
 protected:
  SignatureRequirementTest() {
    Deployment& deployment = prepared_.deployment;
    deployment.groups.resize(2);
    deployment.groups[0].name = "front";
    deployment.groups[1].name = "idlers";
    deployment.groups[1].match = {LoadClass::kIdle};
    Add("named", LoadClass::kSteady, "front");
    Add("matched", LoadClass::kIdle, std::nullopt);
    Add("derived", LoadClass::kBatch, std::nullopt);
  }

  void Add(const std::string& name, LoadClass load_class, std::optional<std::string> group) {
    Service service;
    service.name = name;
    service.module = "/src/" + name + ".so";
    service.load.load_class = load_class;
    service.group = std::move(group);
    prepared_.deployment.services.push_back(service);
    PreparedService& prepared = prepared_.services[name];
    prepared.service = service;
    prepared.module.hash = HashOf(name);
  }
  void AddImage(const std::string& service) {
    prepared_.services[service].service.data_images["words"] = "/src/words.img";
    prepared_.services[service].data_images["words"].hash = HashOf("words");
  }
  static std::string HashOf(const std::string& name) { return "hash of " + name; }
  void Sign(const std::string& name, const std::set<std::string>& keys) {
    prepared_.signers[HashOf(name)].names = keys;
  }
  std::vector<ConfigProblem> Check() {
    const auto placement = Place(MakePlacementInput(prepared_.deployment, {}));
    EXPECT_TRUE(placement.ok()) << placement.status();
    return CheckSignatures(prepared_, *placement);
  }
  std::vector<std::string> Paths() {
    std::vector<std::string> paths;
    for (const ConfigProblem& problem : Check()) paths.push_back(problem.key_path);
    return paths;
  }
  GroupPolicy& front() { return prepared_.deployment.groups[0].policy; }
  GroupPolicy& idlers() { return prepared_.deployment.groups[1].policy; }
  GroupPolicy& defaults() { return prepared_.deployment.group_defaults; }

  PreparedDeployment prepared_;
};

TEST_F(SignatureRequirementTest, NothingIsRequiredByDefault) { EXPECT_THAT(Check(), IsEmpty()); }

TEST_F(SignatureRequirementTest, ThePolicyIsThatOfTheGroupWhereAServiceIsPlaced) {
  front().signatures_from = {"release"};
  EXPECT_THAT(Paths(), ElementsAre("services.named.module"));
  front().signatures_from.clear();
  idlers().signatures_from = {"release"};
  EXPECT_THAT(Paths(), ElementsAre("services.matched.module"));
  idlers().signatures_from.clear();
  defaults().signatures_from = {"release"};
  EXPECT_THAT(Paths(), ElementsAre("services.derived.module"));
}

TEST_F(SignatureRequirementTest, OneOfTheKeysIsEnoughAndAnotherIsNot) {
  front().signatures_from = {"old", "new"};
  Sign("named", {"new"});
  EXPECT_THAT(Check(), IsEmpty());
  Sign("named", {"new", "other"});
  EXPECT_THAT(Check(), IsEmpty());
  Sign("named", {"other"});
  const std::vector<ConfigProblem> problems = Check();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].message, HasSubstr("signed by other only"));
}

TEST_F(SignatureRequirementTest, EveryFileOfAServiceCounts) {
  front().signatures_from = {"release"};
  AddImage("named");
  Sign("named", {"release"});
  EXPECT_THAT(Paths(), ElementsAre("services.named.data_images.words"));
  Sign("words", {"release"});
  EXPECT_THAT(Check(), IsEmpty());
}

TEST_F(SignatureRequirementTest, ARefusalNamesGroupFileKeysReasonAndRemedy) {
  front().signatures_from = {"old", "new"};
  prepared_.signers[HashOf("named")].remarks["/src/named.so"] = "there is no '/src/named.so.sig'";
  const std::vector<ConfigProblem> problems = Check();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].key_path, "services.named.module");
  for (const char* part :
       {"group 'front'", "'/src/named.so'", "old or new", "there is no '/src/named.so.sig'",
        "cohostctl modules sign --key old.key /src/named.so"}) {
    EXPECT_THAT(problems[0].message, HasSubstr(part));
  }
}

}  // namespace
}  // namespace cohost::supervisor
