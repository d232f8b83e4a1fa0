// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "supervisor/config/deployment_loader.h"

namespace cohost::supervisor {

// A temporary folder with a module `m.so`, and ways to load deployments from it.
class ConfigTest : public testing::Test {
 protected:
  ConfigTest();
  ~ConfigTest() override;

  // Writes a file below the folder (and its folders) and returns its path.
  std::string Write(const std::string& name, std::string_view content);
  // Writes the text as `d.yaml` and loads it.
  LoadResult LoadText(std::string_view text, const LoadOptions& options = {});
  // "version: 1" and one service `a`, ending in its keys: `more` continues them with two spaces.
  // The service begins on line 3; `more` on line 6.
  static std::string OneService(std::string_view more);

  // The only error, which must contain `message`; the file name is cut from the path.
  static void ExpectOnly(const LoadResult& result, int line, int column, std::string_view key_path,
                         std::string_view message);
  // One of the errors.
  static void ExpectError(const LoadResult& result, int line, int column, std::string_view key_path,
                          std::string_view message);
  static std::string AllErrors(const LoadResult& result);

  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

}  // namespace cohost::supervisor
