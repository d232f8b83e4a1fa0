// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

namespace cohost::supervisor {

// A folder for one test, removed at its end, with the state file's path in it.
class StateFolder {
 public:
  StateFolder() {
    std::string name = ::testing::TempDir() + "/state-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
  }
  ~StateFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

  std::string path() const { return folder_ + "/state.db"; }
  std::string folder() const { return folder_; }

  void Write(std::string_view content, const std::string& suffix = "") const {
    std::ofstream(path() + suffix, std::ios::binary) << content;
  }
  std::string Read(const std::string& suffix = "") const {
    std::ifstream file(path() + suffix, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Full paths of what was set aside, without SQLite's side files.
  std::vector<std::string> SetAside() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const std::string name = entry.path();
      if (name.find(".damaged-") == std::string::npos) continue;
      if (!name.ends_with("-wal") && !name.ends_with("-shm")) names.push_back(name);
    }
    return names;
  }

 private:
  std::string folder_;
};

}  // namespace cohost::supervisor
