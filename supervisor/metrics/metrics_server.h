// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/system/unique_fd.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

struct MetricsServerOptions {
  // Of the build, for cohost_build_info.
  std::string version;
  // Open connections; further ones wait in the kernel's queue.
  size_t max_connections = 64;
  // A head or an answer that takes longer, or a connection idle for longer, ends the connection.
  absl::Duration io_timeout = absl::Seconds(10);
  absl::Duration idle_timeout = absl::Seconds(75);
};

// The Prometheus endpoint: `GET /metrics` in text format 0.0.4, a page with a link at `/`, on a
// listener that somebody else has opened. Everything runs on one thread of its own; a client that
// is slow or hostile costs a connection for the time limit and nothing else. The page is made once
// per snapshot.
//
// Thread-safe. The destructor ends the thread and closes the connections; it waits at most for one
// page being made.
class MetricsServer {
 public:
  // Called on the endpoint's thread; never answers null.
  using SnapshotSource = std::function<std::shared_ptr<const HostSnapshot>()>;

  // `listener` is a listening stream socket (TCP or unix) with O_NONBLOCK; its flags are never
  // changed.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(SnapshotSource source,
                                                              UniqueFd listener,
                                                              MetricsServerOptions options);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

 private:
  class Thread;
  explicit MetricsServer(std::unique_ptr<Thread> thread);
  std::unique_ptr<Thread> thread_;
};

}  // namespace cohost::supervisor
