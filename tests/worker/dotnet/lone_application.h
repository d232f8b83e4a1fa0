// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_process.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::testing {

// An application as `dotnet NAME.dll` runs it, without Cohost, in a copy of its folder and on free
// ports of loopback. The destructor ends it.
class LoneApplication {
 public:
  static absl::StatusOr<std::unique_ptr<LoneApplication>> Start(const Application& application);

  // Waits until it listens on all its endpoints: "127.0.0.1:4711". Several are told apart by their
  // address: 127.0.0.1, 127.0.0.2 and so on.
  absl::StatusOr<std::vector<std::string>> WaitForAddresses();
  // What it has printed.
  std::string Log() const;

 private:
  explicit LoneApplication(const Application& application) : application_(application) {}

  const Application application_;
  TemporaryFolder folder_;
  std::unique_ptr<TestProcess> process_;
};

}  // namespace cohost::testing
