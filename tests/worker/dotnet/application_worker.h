// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/worker_peer.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::testing {

// A real worker that hosts applications, with the test in the supervisor's place. The destructor
// kills it.
class ApplicationWorker {
 public:
  absl::Status Start();
  // Loads it from a copy of its folder, in which it may write, and waits until it is ready.
  absl::Status Add(const Application& application);

  // An error with what it has printed when it has ended.
  absl::Status CheckAlive();

  const Addresses& addresses() const { return addresses_; }
  WorkerPeer& peer() { return peer_; }

 private:
  TemporaryFolder folder_;
  WorkerPeer peer_;
  std::vector<LoopbackListener> listeners_;
  Addresses addresses_;
};

}  // namespace cohost::testing
