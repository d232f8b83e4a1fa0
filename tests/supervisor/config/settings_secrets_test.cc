// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/settings_secrets.h"

#include <cstdlib>

#include "tests/supervisor/config/config_fixture.h"

namespace cohost::supervisor {
namespace {

class ResolveSecretsTest : public ConfigTest {
 protected:
  ResolveSecretsTest() {
    setenv("COHOST_TEST_SECRET", "from the environment", 1);
    setenv("CREDENTIALS_DIRECTORY", folder().c_str(), 1);
  }
  ~ResolveSecretsTest() override {
    unsetenv("COHOST_TEST_SECRET");
    unsetenv("CREDENTIALS_DIRECTORY");
  }

  static absl::StatusOr<std::string> Resolve(const std::string& value) {
    absl::StatusOr<Settings> settings = ResolveSecrets({{"key", value}});
    if (!settings.ok()) return settings.status();
    return settings->at(0).second;
  }
};

TEST_F(ResolveSecretsTest, ReplacesEveryReference) {
  const std::string path = Write("db.secret", "hunter2\n");
  EXPECT_EQ(*Resolve("plain $5 ${env:COHOST_TEST_SECRET}!"), "plain $5 from the environment!");
  EXPECT_EQ(*Resolve("${file:" + path + "}"), "hunter2");
  EXPECT_EQ(*Resolve("${credential:db.secret}${credential:db.secret}"), "hunter2hunter2");
  EXPECT_EQ(*Resolve("$${env:X} $"), "${env:X} $");
  EXPECT_EQ(*Resolve(""), "");
}

TEST_F(ResolveSecretsTest, AValueIsNotResolvedAgain) {
  Write("nested", "${env:COHOST_TEST_SECRET}");
  EXPECT_EQ(*Resolve("${credential:nested}"), "${env:COHOST_TEST_SECRET}");
}

TEST_F(ResolveSecretsTest, WhatIsMissingIsNamedWithItsKey) {
  EXPECT_EQ(Resolve("secret ${env:COHOST_TEST_NONE}").status().message(),
            "setting 'key': environment variable 'COHOST_TEST_NONE' is not set");
  EXPECT_EQ(Resolve("${file:/none/x}").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Resolve("${file:/tmp}").status().code(), absl::StatusCode::kFailedPrecondition);
  unsetenv("CREDENTIALS_DIRECTORY");
  EXPECT_EQ(Resolve("${credential:x}").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ResolveSecretsTest, MessagesNeverShowAValue) {
  for (const char* value :
       {"hunter2 ${env:COHOST_TEST_NONE}", "hunter2 ${", "hunter2 ${x:y}", "hunter2 ${env:}",
        "hunter2 ${file:relative}", "hunter2 ${credential:../x}", "hunter2 ${credential:..}"}) {
    const absl::Status status = Resolve(value).status();
    EXPECT_FALSE(status.ok()) << value;
    EXPECT_EQ(status.message().find("hunter2"), absl::string_view::npos) << status;
  }
}

TEST_F(ResolveSecretsTest, BrokenReferencesAreFoundWhenTheDeploymentIsRead) {
  const LoadResult result =
      LoadText(OneService("  settings: {db: {password: \"hunter2 ${file:x}\"}}\n"));
  ExpectOnly(result, 6, 29, "services[0].settings.db:password", "must be absolute");
  EXPECT_EQ(AllErrors(result).find("hunter2"), std::string::npos);
  EXPECT_TRUE(LoadText(OneService("  settings: {a: \"${env:COHOST_TEST_NONE}\"}\n"))
                  .deployment.has_value());
}

TEST_F(ResolveSecretsTest, TwoWaysToOneSettingAreAnError) {
  ExpectOnly(LoadText(OneService("  settings:\n    db: {host: a}\n    \"db:host\": b\n")), 8, 16,
             "services[0].settings.db:host", "duplicate setting, first on line 7");
  ExpectOnly(LoadText(OneService("  settings: {a: }\n")), 6, 17, "services[0].settings.a",
             "has no value");
}

TEST_F(ResolveSecretsTest, SettingsAreLimited) {
  std::string many = "  settings:\n";
  for (int i = 0; i < 2001; ++i) many += "    k" + std::to_string(i) + ": v\n";
  ExpectOnly(LoadText(OneService(many)), 2007, 12, "services[0].settings", "at most 2000 settings");
  std::string large = "  settings:\n";
  for (int i = 0; i < 5; ++i) {
    large += "    k" + std::to_string(i) + ": " + std::string(60'000, 'x') + "\n";
  }
  ExpectOnly(LoadText(OneService(large)), 11, 9, "services[0].settings", "262144 bytes");
}

}  // namespace
}  // namespace cohost::supervisor
