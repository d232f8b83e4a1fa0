// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "grpcpp/support/server_callback.h"
#include "proto/admin.pb.h"
#include "supervisor/admin/host_control.h"
#include "supervisor/admin/stream/session_threads.h"

namespace cohost::supervisor {

// The calls of the admin API that look into workers. Each is an event with its caller's uid: a dump
// has the secrets of every service of the worker. Thread-safe; `host` outlives it.
class DiagnosticsCalls {
 public:
  using Call = grpc::ServerWriteReactor<admin::v1::DiagnosticsPart>;

  // `dumps_folder` is made when it is needed.
  DiagnosticsCalls(HostControl& host, std::string dumps_folder);

  Call* Dump(uid_t caller, const admin::v1::DumpWorkerRequest& request);
  Call* Trace(uid_t caller, const admin::v1::TraceWorkerRequest& request);

 private:
  void Record(uid_t caller, const WorkerView& worker, const std::string& service,
              const std::string& what);

  // Set in the constructor, never changed.
  HostControl& host_;
  const std::string dumps_folder_;
  SessionThreads threads_;
};

}  // namespace cohost::supervisor
