// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "supervisor/dotnet/worker_frameworks.h"

namespace cohost::supervisor {

// A managed library of an application: NAME.dll in its folder. Paths are relative to that.
struct Library {
  std::string name;
  // As deps.json says: "10.0.0". Empty: not said.
  std::string package_version;
  // Assemblies that it uses, by name, without those of the framework.
  std::vector<std::string> references;
  // Native libraries that its methods are imported from, where the application has them.
  std::vector<std::string> native_libraries;
  // "de/NAME.resources.dll"
  std::vector<std::string> satellites;
  // What the scan has found against sharing it: the beginnings of sentences.
  std::vector<std::string> alarms;
  // Why it cannot be shared, whatever anybody says; empty: it can.
  std::string obstacle;
};

// What the runtime would load for the application whose main assembly is `app`, without the main
// assembly and without what the framework has; sorted by name. Nothing of it is run; what it has is
// hostile. Errors name the file. Blocks on the disk; any thread.
absl::StatusOr<std::vector<Library>> ReadLibraries(const std::string& app,
                                                   const DotnetRuntime& runtime);

}  // namespace cohost::supervisor
