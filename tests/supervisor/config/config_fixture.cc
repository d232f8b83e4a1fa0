// SPDX-License-Identifier: Apache-2.0
#include "tests/supervisor/config/config_fixture.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/strings.h"

namespace cohost::supervisor {
namespace {

bool Matches(const ConfigError& error, int line, int column, std::string_view key_path,
             std::string_view message) {
  return error.line == line && error.column == column && error.key_path == key_path &&
         error.message.find(message) != std::string::npos;
}

}  // namespace

ConfigTest::ConfigTest() {
  std::string name = "/tmp/cohost-config-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "mkdtemp failed";
  folder_ = name;
  Write("m.so", "a module");
  Write("App.dll", "an assembly");
}

ConfigTest::~ConfigTest() {
  std::error_code ignored;  // A folder left behind in /tmp fails no test.
  std::filesystem::remove_all(folder_, ignored);
}

std::string ConfigTest::Write(const std::string& name, std::string_view content) {
  const std::filesystem::path path = std::filesystem::path(folder_) / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path.string();
}

LoadResult ConfigTest::LoadText(std::string_view text, const LoadOptions& options) {
  return LoadDeployment(Write("d.yaml", text), options);
}

std::string ConfigTest::OneService(std::string_view more) {
  return absl::StrCat(
      "version: 1\nservices:\n- name: a\n  module: m.so\n  listen: [\"http://127.0.0.1:8001\"]\n",
      AsAbsl(more));
}

void ConfigTest::ExpectOnly(const LoadResult& result, int line, int column,
                            std::string_view key_path, std::string_view message) {
  EXPECT_FALSE(result.deployment.has_value());
  EXPECT_EQ(result.errors.size(), 1u) << AllErrors(result);
  ExpectError(result, line, column, key_path, message);
}

void ConfigTest::ExpectError(const LoadResult& result, int line, int column,
                             std::string_view key_path, std::string_view message) {
  EXPECT_TRUE(std::any_of(
      result.errors.begin(), result.errors.end(),
      [&](const ConfigError& error) { return Matches(error, line, column, key_path, message); }))
      << "no error " << line << ":" << column << ": " << key_path << ": ..." << message
      << "... in:\n"
      << AllErrors(result);
}

std::string ConfigTest::AllErrors(const LoadResult& result) {
  std::string all;
  for (const ConfigError& error : result.errors) absl::StrAppend(&all, Render(error), "\n");
  return all;
}

}  // namespace cohost::supervisor
