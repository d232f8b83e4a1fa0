// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/deployment_checks.h"

#include "absl/strings/str_cat.h"
#include "tests/supervisor/config/config_fixture.h"

namespace cohost::supervisor {
namespace {

class DeploymentChecksTest : public ConfigTest {
 protected:
  // `head`, then one service a line: its keys but the module. The first service is on the line
  // after "services:".
  LoadResult LoadServices(const std::string& head, const std::vector<std::string>& services) {
    std::string text = absl::StrCat("version: 1\n", head, "services:\n");
    for (const std::string& service : services) {
      absl::StrAppend(&text, "- {module: m.so, ", service, "}\n");
    }
    return LoadText(text);
  }
};

std::string Listens(const std::string& name, const std::string& address) {
  return absl::StrCat("name: ", name, ", listen: [\"", address, "\"]");
}

TEST_F(DeploymentChecksTest, CFG_01_DuplicateNamesGiveBothPlaces) {
  const LoadResult result =
      LoadServices("groups: [{name: g}, {name: g}]\n",
                   {Listens("a", "http://127.0.0.1:1"), Listens("a", "http://127.0.0.1:2")});
  ExpectError(result, 2, 28, "groups[1].name",
              absl::StrCat("duplicate group 'g', first at ", folder(), "/d.yaml:2"));
  ExpectError(result, 5, 24, "services[1].name",
              absl::StrCat("duplicate service 'a', first at ", folder(), "/d.yaml:4"));
  EXPECT_EQ(result.errors.size(), 2u) << AllErrors(result);
}

TEST_F(DeploymentChecksTest, CFG_01_NamesCollideAcrossFiles) {
  Write("more.yml", "services: [{name: a, module: m.so, listen: [\"http://127.0.0.1:7\"]}]\n");
  ExpectOnly(LoadText(OneService("include: [more.yml]\n")), 1, 19, "services[0].name",
             absl::StrCat("first at ", folder(), "/d.yaml:3"));
}

TEST_F(DeploymentChecksTest, TwoListenersOnOneAddress) {
  const std::pair<const char*, const char*> colliding[] = {
      {"http://127.0.0.1:80", "http://127.0.0.1:80"},
      {"http://127.0.0.1:80", "http://localhost:80"},
      {"http://127.0.0.1:80", "http://0.0.0.0:80"},
      {"http://0.0.0.0:80", "http://127.0.0.1:80"},
      {"http://[::1]:80", "http://[0:0::1]:80"},
      {"http://[::]:80", "http://[::1]:80"},
      {"http+unix:/run/a", "http+unix:/run/a"},
      {"http+unix:/run/cohost/admin.sock", "http+unix:/run/b"},
  };
  for (const auto& [first, second] : colliding) {
    const LoadResult result = LoadServices("", {Listens("a", first), Listens("b", second)});
    ASSERT_EQ(result.errors.size(), 1u) << first << " " << second << AllErrors(result);
    const bool admin = std::string(first).find("admin") != std::string::npos;
    EXPECT_EQ(result.errors[0].line, admin ? 3 : 4);
    EXPECT_NE(result.errors[0].message.find(
                  admin ? "is the address of host.admin"
                        : absl::StrCat("is the address of service 'a' at ", folder(), "/d.yaml:3")),
              std::string::npos)
        << AllErrors(result);
  }
}

TEST_F(DeploymentChecksTest, AddressesThatDoNotMeet) {
  const std::pair<const char*, const char*> apart[] = {
      {"http://127.0.0.1:0", "http://127.0.0.1:0"},
      {"http://127.0.0.1:80", "http://127.0.0.2:80"},
      {"http://127.0.0.1:80", "http://127.0.0.1:81"},
      {"http://0.0.0.0:80", "http://[::]:80"},
      {"http+unix:/run/a", "http+unix:/run/b"},
  };
  for (const auto& [first, second] : apart) {
    const LoadResult result = LoadServices("", {Listens("a", first), Listens("b", second)});
    EXPECT_TRUE(result.deployment.has_value()) << AllErrors(result);
  }
}

TEST_F(DeploymentChecksTest, TheMetricsAddressCollidesToo) {
  ExpectOnly(LoadServices("host: {metrics: {listen: \"127.0.0.1:80\"}}\n",
                          {Listens("a", "http://127.0.0.1:80")}),
             4, 36, "services[0].listen[0]", "is the address of host.metrics at ");
}

TEST_F(DeploymentChecksTest, UnknownGroupsNameTheNearest) {
  ExpectOnly(LoadServices("groups: [{name: steady}]\n",
                          {Listens("a", "http://127.0.0.1:80") + ", group: stedy"}),
             4, 67, "services[0].group", "no group 'stedy', did you mean 'steady'?");
}

TEST_F(DeploymentChecksTest, AGroupWithoutServicesIsFine) {
  EXPECT_TRUE(LoadServices("groups: [{name: g}]\n", {Listens("a", "http://127.0.0.1:80")})
                  .deployment.has_value());
}

TEST_F(DeploymentChecksTest, AClassMatchesOneGroup) {
  const LoadResult result = LoadText(
      "version: 1\ngroups:\n- {name: a, match: {class: [steady, idle]}}\n"
      "- {name: b, match: {class: [steady]}}\n- {name: c, match: {class: [latency, batch]}}\n");
  ExpectError(result, 4, 29, "groups[1].match.class[0]", "matched already by group 'a' at ");
  ExpectError(result, 5, 38, "groups[2].match.class[1]",
              "latency never shares a worker with batch");
  EXPECT_EQ(result.errors.size(), 2u) << AllErrors(result);
}

TEST_F(DeploymentChecksTest, LatencyAndBatchNeverNameOneGroup) {
  const LoadResult result =
      LoadServices("groups: [{name: g}]\n",
                   {Listens("a", "http://127.0.0.1:1") + ", group: g, load: {class: latency}",
                    Listens("b", "http://127.0.0.1:2") + ", group: g, load: {class: steady}",
                    Listens("c", "http://127.0.0.1:3") + ", group: g, load: {class: batch}"});
  ExpectOnly(result, 6, 83, "services[2].load.class", "has a service of the other class at ");
}

TEST_F(DeploymentChecksTest, DeclaredGroupingWantsAGroupForEveryService) {
  ExpectOnly(LoadServices("grouping: {strategy: declared}\n", {Listens("a", "http://127.0.0.1:1")}),
             4, 24, "services[0].name", "the service names no group");
  const LoadResult match = LoadText(
      "version: 1\ngrouping: {strategy: declared}\ngroups: [{name: a, match: {class: [idle]}}]\n");
  ExpectOnly(match, 3, 36, "groups[0].match.class[0]",
             "match needs grouping.strategy load_profile");
}

TEST_F(DeploymentChecksTest, ServicesThatFitNowhere) {
  const LoadResult derived =
      LoadServices("grouping: {worker_memory: 64Mi, worker_cpu: 0.5}\n",
                   {Listens("a", "http://127.0.0.1:1") + ", load: {memory: 65Mi, cpu: 0.6}"});
  ExpectError(derived, 4, 74, "services[0].load.memory",
              "65Mi is more than grouping.worker_memory");
  ExpectError(derived, 4, 85, "services[0].load.cpu",
              "0.6 cores are more than grouping.worker_cpu");
  EXPECT_EQ(derived.errors.size(), 2u) << AllErrors(derived);

  const LoadResult declared =
      LoadServices("groups: [{name: g, workers: 2, limits: {memory: 64Mi, cpu: 0.5}}]\n",
                   {Listens("a", "http://127.0.0.1:1") +
                    ", group: g, load: {memory: 65Mi, cpu: 1.1}, limits: {memory: 1Gi}"});
  ExpectError(declared, 4, 84, "services[0].load.memory", "a worker of group 'g' may use (64Mi)");
  ExpectError(declared, 4, 95, "services[0].load.cpu", "may use together (1)");
  ExpectError(declared, 4, 118, "services[0].limits.memory", "1Gi is more than a worker");
  EXPECT_EQ(declared.errors.size(), 3u) << AllErrors(declared);
}

TEST_F(DeploymentChecksTest, ABackstopBelowWhatPlacementPacks) {
  ExpectOnly(LoadText("version: 1\ngroup_defaults: {limits: {memory: 64Mi}}\n"), 2, 26,
             "group_defaults.limits", "64Mi is less than grouping.worker_memory (256Mi)");
}

TEST_F(DeploymentChecksTest, SignaturesAreRequiredFromKeysOfTheHost) {
  const std::string host = "version: 1\nhost: {signing_keys: {release: m.so, spare: m.so}}\n";
  const LoadResult result = LoadText(
      absl::StrCat(host, "group_defaults: {signatures: {required_from: [release, spare]}}\n",
                   "groups: [{name: a}, {name: b, signatures: {required_from: []}},\n",
                   "         {name: c, signatures: {required_from: [spare]}}]\n"));
  ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result);
  const Deployment& deployment = *result.deployment;
  EXPECT_EQ(deployment.host.signing_keys.at("spare"), folder() + "/m.so");
  EXPECT_EQ(deployment.groups[0].policy.signatures_from,
            (std::vector<std::string>{"release", "spare"}));
  EXPECT_TRUE(deployment.groups[1].policy.signatures_from.empty());
  EXPECT_EQ(deployment.groups[2].policy.signatures_from, std::vector<std::string>{"spare"});

  ExpectOnly(LoadText(host + "group_defaults: {signatures: {required_from: [relaese]}}\n"), 3, 47,
             "group_defaults.signatures.required_from[0]",
             "no key 'relaese' in host.signing_keys, did you mean 'release'?");
  Write("more.yml", "groups: [{name: a, signatures: {required_from: [spare, other]}}]\n");
  ExpectOnly(LoadText(host + "include: [more.yml]\n"), 1, 56,
             "groups[0].signatures.required_from[1]", "no key 'other' in host.signing_keys");
  // Only where it is written, not in every group that has it from the defaults.
  ExpectOnly(LoadText("version: 1\ngroup_defaults: {signatures: {required_from: [a]}}\n"
                      "groups: [{name: a}, {name: b}]\n"),
             2, 47, "group_defaults.signatures.required_from[0]", "no key 'a'");
}

TEST_F(DeploymentChecksTest, SigningKeysAreAtMost32) {
  const auto keys = [](int count) {
    std::string text = "version: 1\nhost:\n  signing_keys:\n";
    for (int i = 0; i < count; ++i) absl::StrAppend(&text, "    k", i, ": m.so\n");
    return text;
  };
  EXPECT_TRUE(LoadText(keys(32)).deployment.has_value());
  ExpectOnly(LoadText(keys(33)), 4, 5, "host.signing_keys", "33 keys are more than 32");
}

TEST_F(DeploymentChecksTest, AServiceListensSomewhere) {
  ExpectOnly(LoadServices("", {"name: a, listen: []"}), 3, 35, "services[0].listen",
             "at least one address");
}

TEST_F(DeploymentChecksTest, OnlyUnixSocketsHaveModeAndOwner) {
  const LoadResult result = LoadServices(
      "", {"name: a, listen: [{address: \"http://127.0.0.1:1\", mode: \"0600\", owner: root}]"});
  ExpectError(result, 3, 74, "services[0].listen[0].mode", "only unix sockets have one");
  ExpectError(result, 3, 89, "services[0].listen[0].owner", "only unix sockets have one");
  EXPECT_EQ(result.errors.size(), 2u) << AllErrors(result);
}

}  // namespace
}  // namespace cohost::supervisor
