// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cohost::worker::dotnet {

// What the deployment says about an application, beside what every service has.
struct DotnetServiceDescription {
  // The main assembly: absolute path in the service's own tree.
  std::string application{};
  // It has the process for itself: CoreCLR is started for it, as by `dotnet App.dll`.
  bool solo = false;
  // Where it may write; empty: nowhere.
  std::string data_folder{};
  // Empty: the shim's default.
  std::string data_protection_name{};
  // Flattened, in the order of the deployment.
  std::vector<std::pair<std::string, std::string>> settings{};
  std::vector<std::pair<std::string, std::string>> environment{};
  std::vector<std::string> arguments{};
  // As AssignRequest.shared_libraries.
  std::vector<std::string> shared_libraries{};
  // For each endpoint of the service, in its order: the text of `endpoint:`.
  std::vector<std::string> endpoints{};
};

}  // namespace cohost::worker::dotnet
