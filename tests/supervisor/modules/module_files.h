// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace cohost::supervisor {

// The content of a file, also of one of this package's shared objects ("plain_module.so").
inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline std::string ModuleContent(const std::string& name) {
  const std::string content = ReadFile("tests/supervisor/modules/" + name);
  EXPECT_FALSE(content.empty()) << name;
  return content;
}

// A folder for one test, removed at its end.
class TestFolder {
 public:
  TestFolder() {
    std::string name = ::testing::TempDir() + "/modules-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  // The full path of a new file.
  std::string Write(const std::string& name, std::string_view content) const {
    const std::string path = path_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

 private:
  std::string path_;
};

}  // namespace cohost::supervisor
