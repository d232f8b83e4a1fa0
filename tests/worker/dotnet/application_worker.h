// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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
  // Loads it as `service` (default: its own name) from a copy of its folder, in which it may write,
  // and waits until it is ready. `change` has the last word about the request.
  absl::Status Add(const Application& application, const std::string& service = "",
                   const std::function<void(worker::v1::AssignRequest&)>& change = {});

  // An error with what it has printed when it has ended.
  absl::Status CheckAlive();

  const Addresses& addresses() const { return addresses_; }
  // Of the first endpoint.
  uint16_t Port(const std::string& service) const { return ports_.at(service); }
  // Of the segment.
  uint32_t Row(const std::string& service) const { return rows_.at(service); }
  WorkerPeer& peer() { return peer_; }

 private:
  TemporaryFolder folder_;
  WorkerPeer peer_;
  std::vector<LoopbackListener> listeners_;
  Addresses addresses_;
  std::map<std::string, uint16_t> ports_;
  std::map<std::string, uint32_t> rows_;
};

}  // namespace cohost::testing
