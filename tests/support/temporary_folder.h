// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cohost::testing {

// A fresh folder with a path short enough for unix sockets below it; removed with everything in it
// at the end. Ends the program when it cannot be made: no test can go on then.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace cohost::testing
