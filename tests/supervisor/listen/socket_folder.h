// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "supervisor/config/deployment.h"

namespace cohost::supervisor {

// A short temporary folder for unix sockets.
class SocketFolderTest : public testing::Test {
 protected:
  SocketFolderTest();
  ~SocketFolderTest() override;

  // The address of a socket below the folder.
  Address Unix(const std::string& name) const;
  void WriteFile(const std::string& name, std::string_view content) const;
  std::string ReadFile(const std::string& name) const;
  // Everything in the folder, sorted.
  std::vector<std::string> Names() const;
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

}  // namespace cohost::supervisor
