// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/system/unique_fd.h"
#include "supervisor/admin/host_control.h"

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace cohost::supervisor {

struct AdminServerOptions {
  // Of the build, as Status.version shows it.
  std::string version;
  // For core dumps of workers while they are handed over; made when it is needed.
  std::string dumps_folder;
  // Who may connect besides uid 0 and the supervisor's own.
  std::vector<uid_t> allowed_uids;
  // Open connections; one more is closed at once.
  size_t max_connections = 64;
  // Told what operators should know ("out of descriptors"), at most once a minute for each cause.
  // Loop thread.
  std::function<void(std::string_view)> on_problem = [](std::string_view) {};
};

// Serves the admin API (proto/admin.proto), grpc.health.v1 and reflection on a unix socket that
// somebody else has opened. Connections are accepted on the loop thread, which checks SO_PEERCRED
// and hands the descriptor to gRPC; calls then run on gRPC's threads and reach the host only
// through HostControl.
//
// Start, Stop and the destructor: loop thread only (or any, once the loop has stopped). `host` and
// `loop` outlive it.
class AdminServer {
 public:
  // `listener` is a listening unix socket with O_NONBLOCK; its flags are never changed.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(HostControl& host,
                                                            boost::asio::io_context& loop,
                                                            UniqueFd listener,
                                                            AdminServerOptions options);
  // Stops within five seconds if Stop was not called.
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  // Accepts nothing more, cancels all calls and streams, and returns within `limit` whatever gRPC
  // does: DEADLINE_EXCEEDED means that a gRPC thread is stuck and was left behind; the process
  // should end soon. Calling it again is harmless.
  absl::Status Stop(absl::Duration limit);

  // Failed accepts since the start (out of descriptors, mostly); 0 once stopped. Loop thread only.
  uint64_t accept_errors() const;

 private:
  class Parts;
  explicit AdminServer(std::shared_ptr<Parts> parts);

  // Shared with the thread that shuts gRPC down, which may outlive this object.
  std::shared_ptr<Parts> parts_;
};

}  // namespace cohost::supervisor
