// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/dotnet/hostfxr.h"
#include "base/log.h"
#include "worker/dotnet/boundary.h"
#include "worker/dotnet/dotnet_service_description.h"
#include "worker/dotnet/runtime_host.h"
#include "worker/services/hosted_service.h"
#include "worker/services/service_table.h"

namespace cohost::worker::dotnet {

struct LentParts {
  ServiceTable& table;
  const Clock& clock;
  Log& log;
  // Runs a function on the I/O thread, later. Any thread.
  std::function<void(std::function<void()>)> post_to_io;
  RuntimeHostParts host;
};

struct DotnetOptions {
  DotnetPlaces places{};
  // The managed shim's main assembly.
  std::string shim{};
  // Where the runtime makes its diagnostics socket; empty: where it does by itself.
  std::string diagnostics_folder{};
};

// CoreCLR in this process, started when the first service needs it, and once: a start that failed
// has failed for the worker's life, with its reason for every service that asks. I/O thread only.
// Made once per worker and never destroyed: the runtime's threads call it until the process ends.
class DotnetRuntime {
 public:
  DotnetRuntime(LentParts lent, DotnetOptions options);
  DotnetRuntime(const DotnetRuntime&) = delete;
  DotnetRuntime& operator=(const DotnetRuntime&) = delete;

  // A service that is not loaded yet: Start does that.
  std::unique_ptr<HostedService> Create(DotnetServiceDescription description, ServiceEntry& entry);

  // Starts CoreCLR unless that was done; `done` is called once, later, with what it came to.
  // `solo`: for this application alone; empty: for those that share. FAILED_PRECONDITION when it
  // was started for another one, or for others.
  void WhenStarted(const std::string& solo, std::function<void(absl::Status)> done);
  // Null before it has started.
  const ManagedTable* shim() const { return shim_.has_value() ? &*shim_ : nullptr; }
  RuntimeHost& host() { return host_; }
  const LentParts& lent() const { return lent_; }

 private:
  void OnStarted(absl::StatusOr<ManagedTable> shim, absl::Duration took);

  // Set in the constructor, never changed.
  const LentParts lent_;
  const DotnetOptions options_;
  RuntimeHost host_;

  // Set when the start begins: what it was begun for.
  std::optional<std::string> solo_;
  std::optional<absl::Status> result_;  // once it has ended
  std::optional<ManagedTable> shim_;
  std::vector<std::function<void(absl::Status)>> waiting_;
};

}  // namespace cohost::worker::dotnet
