// SPDX-License-Identifier: Apache-2.0
#include "tests/supervisor/listen/socket_folder.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {

SocketFolderTest::SocketFolderTest() {
  std::string name = "/tmp/ch-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "mkdtemp failed";
  folder_ = name;
}

SocketFolderTest::~SocketFolderTest() {
  std::error_code ignored;  // A folder left behind in /tmp fails no test.
  std::filesystem::remove_all(folder_, ignored);
}

Address SocketFolderTest::Unix(const std::string& name) const {
  Address address;
  address.kind = Address::Kind::kUnix;
  address.path = absl::StrCat(folder_, "/", name);
  address.text = absl::StrCat("http+unix:", address.path);
  return address;
}

void SocketFolderTest::WriteFile(const std::string& name, std::string_view content) const {
  std::ofstream(absl::StrCat(folder_, "/", name)) << content;
}

std::string SocketFolderTest::ReadFile(const std::string& name) const {
  std::ostringstream content;
  content << std::ifstream(absl::StrCat(folder_, "/", name)).rdbuf();
  return content.str();
}

std::vector<std::string> SocketFolderTest::Names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace cohost::supervisor
