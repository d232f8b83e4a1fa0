// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/deployment_writer.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/strings.h"
#include "supervisor/config/keys/key_table.h"
#include "supervisor/config/yaml/yaml_tree.h"
#include "tests/supervisor/config/config_fixture.h"
#include "tests/supervisor/config/deployment_samples.h"

namespace cohost::supervisor {
namespace {

class DeploymentWriterTest : public ConfigTest {
 protected:
  std::string module() const { return folder() + "/m.so"; }

  // The text is read back as the same deployment, and that is written as the same text.
  static void ExpectRoundTrip(const Deployment& deployment, const LoadOptions& options = {}) {
    const std::string text = FormatDeployment(deployment);
    const LoadResult result = ParseDeployment(text, "x.yaml", options);
    ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result) << text;
    const std::string again = FormatDeployment(*result.deployment);
    EXPECT_EQ(again, text);
    // Not printed: gtest would show the bytes.
    EXPECT_TRUE(*result.deployment == deployment) << text;
  }

  // Every accepted key of the block stands in the map, if its services' runtime has it.
  static void ExpectEveryKey(const Block& block, const YamlNode& map, std::string_view runtime,
                             size_t& found) {
    for (const Key* key : block.AllKeys()) {
      if (key->state == KeyState::kReserved || key->name == "include") continue;
      if (!key->runtime.empty() && key->runtime != runtime) continue;
      SCOPED_TRACE(absl::StrCat(AsAbsl(block.title), ".", AsAbsl(key->name)));
      const YamlNode* value = map.Find(key->name);
      ASSERT_NE(value, nullptr) << "FormatDeployment does not write this key";
      ++found;
      const Block* inner =
          key->type == KeyType::kAddress && key->shape == Shape::kList ? &kListenBlock : key->block;
      if (inner == nullptr) continue;
      ASSERT_FALSE(value->children.empty());
      const bool second = key->name == "services" && runtime == "dotnet";
      ExpectEveryKey(*inner, key->shape == Shape::kList ? value->children[second ? 1 : 0] : *value,
                     runtime, found);
    }
  }
};

TEST_F(DeploymentWriterTest, WritesEveryKeyOfTheTable) {
  const std::string text = FormatDeployment(DeploymentOfEverything(module()));
  ConfigErrors errors;
  const YamlNode root = ParseYaml(text, "x.yaml", YamlLimits{}, errors);
  ASSERT_TRUE(errors.empty());
  size_t found = 0;
  ExpectEveryKey(kRootBlock, root, "native", found);
  EXPECT_GE(found, 100u);
  ExpectEveryKey(kRootBlock, root, "dotnet", found);
}

TEST_F(DeploymentWriterTest, EveryFieldIsReadBack) {
  ExpectRoundTrip(DeploymentOfEverything(module()));
}

TEST_F(DeploymentWriterTest, ADeploymentOfDefaultsSaysThemAll) {
  const LoadResult result = LoadText(OneService(""));
  ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result);
  ExpectRoundTrip(*result.deployment);
  const std::string text = FormatDeployment(*result.deployment);
  EXPECT_NE(text.find("worker_memory: 256Mi\n"), std::string::npos) << text;
  EXPECT_NE(text.find("idle_timeout: 1m15s\n"), std::string::npos) << text;
  const LoadResult empty = LoadText("version: 1\n");
  ASSERT_TRUE(empty.deployment.has_value()) << AllErrors(empty);
  ExpectRoundTrip(*empty.deployment);
}

TEST_F(DeploymentWriterTest, OptionsAreAppliedAlready) {
  LoadOptions options;
  options.runtime_dir = folder() + "//run/./x/";
  options.state_dir = "state";
  options.port_offset = 1000;
  const LoadResult result =
      LoadText(OneService("host: {metrics: {listen: \"127.0.0.1:9464\"}, admin: {listen: "
                          "\"unix:/run/cohost/a.sock\"}}\n"),
               options);
  ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result);
  EXPECT_EQ(result.deployment->host.runtime_dir, folder() + "/run/x");
  EXPECT_EQ(result.deployment->services[0].listen[0].port, 9001);
  ExpectRoundTrip(*result.deployment);
}

TEST_F(DeploymentWriterTest, OddPathsAndNumbersAreReadBack) {
  const LoadResult valid =
      LoadText(OneService("  load: {cpu: 0.1, requests_per_second: -0}\n"
                          "  settings: {\"\\x7f\\0\": \"\\x85[\"}\n"
                          "host: {runtime_dir: /, state_dir: \"a/./b//c \\\" d\", admin: {listen: "
                          "\"unix:////x\"}}\n"));
  ASSERT_TRUE(valid.deployment.has_value()) << AllErrors(valid);
  EXPECT_EQ(valid.deployment->host.state_dir, folder() + "/a/b/c \" d");
  ExpectRoundTrip(*valid.deployment);
}

TEST_F(DeploymentWriterTest, EscapesThatGiveNoTextAreRefused) {
  ExpectOnly(LoadText(OneService("  settings: {a: \"\\N\"}\n")), 6, 17, "services[0].settings.a",
             "write \\x85 and \\xa0 instead");
}

TEST_F(DeploymentWriterTest, AFolderWithoutAReadableNameIsRefused) {
  for (const std::string name : {"\xff", "a\nb"}) {
    Write(name + "/m.so", "a module");
    const std::string path = Write(
        name + "/d.yaml",
        "version: 1\nservices: [{name: a, module: m.so, listen: [\"http://127.0.0.1:8001\"]}]\n");
    const LoadResult result = LoadDeployment(path);
    ASSERT_EQ(result.errors.size(), 1u) << AllErrors(result);
    EXPECT_EQ(result.errors[0].key_path, "services[0].module");
  }
  LoadOptions options;
  options.state_dir = "/x\xff";
  const LoadResult result = LoadText(OneService(""), options);
  ASSERT_EQ(result.errors.size(), 1u) << AllErrors(result);
  EXPECT_NE(result.errors[0].message.find("not valid UTF-8"), std::string::npos);
}

TEST_F(DeploymentWriterTest, MoreThanOneFileMayHoldIsReadBackAsFormatted) {
  Deployment deployment = DeploymentOfEverything(module());
  Service service = deployment.services[0];
  service.group.reset();
  service.settings = {{"large", std::string(100'000, '\n')}};
  service.listen.resize(1);
  Address& address = service.listen[0];
  for (uint16_t i = 0; i < 25; ++i) {
    service.name = absl::StrCat("s", i);
    address.path = absl::StrCat("/run/shop/", i);
    address.text = absl::StrCat("http+unix:", address.path);
    deployment.services.push_back(service);
  }
  const std::string text = FormatDeployment(deployment);
  EXPECT_GT(text.size(), YamlLimits().size);
  EXPECT_FALSE(ParseDeployment(text, "x.yaml").deployment.has_value());
  LoadOptions options;
  options.formatted = true;
  ExpectRoundTrip(deployment, options);
}

TEST_F(DeploymentWriterTest, RandomDeploymentsAreReadBack) {
  RandomDeployments random(20'240'229, module());
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    ExpectRoundTrip(random.Next());
  }
}

// The examples' own files; what they name is there, but empty.
class ExampleIsReadBack : public DeploymentWriterTest,
                          public ::testing::WithParamInterface<const char*> {};

TEST_P(ExampleIsReadBack, WithAllOfItsServices) {
  const std::filesystem::path example = std::string("deploy/examples/") + GetParam();
  std::vector<std::filesystem::path> files = {"cohost.yaml"};
  for (const auto& entry : std::filesystem::directory_iterator(example / "services.d")) {
    files.push_back(std::filesystem::path("services.d") / entry.path().filename());
  }
  std::string path;
  for (const std::filesystem::path& file : files) {
    std::ifstream stream(example / file);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const std::string copy = Write(file.string(), text);
    if (file == "cohost.yaml") path = copy;
    const std::regex named("\\.\\./([a-z]+/[-_./A-Za-z]+)");
    for (std::sregex_iterator it(text.begin(), text.end(), named), end; it != end; ++it) {
      Write((*it)[1].str(), "");
    }
  }
  const LoadResult result = LoadDeployment(path);
  ASSERT_TRUE(result.deployment.has_value()) << AllErrors(result);
  EXPECT_EQ(result.deployment->services.size(), 47u);
  ExpectRoundTrip(*result.deployment);
}

INSTANTIATE_TEST_SUITE_P(Examples, ExampleIsReadBack, ::testing::Values("reference-data", "dotnet"),
                         [](const auto& info) {
                           return absl::StrReplaceAll(info.param, {{"-", "_"}});
                         });

}  // namespace
}  // namespace cohost::supervisor
