// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "absl/time/time.h"
#include "grpcpp/client_context.h"
#include "proto/admin.grpc.pb.h"
#include "supervisor/ctl/failure.h"

namespace cohost::supervisor {

// One connection to a host's admin socket. Not thread-safe.
class AdminClient {
 public:
  // Connects by itself, so that "no such file", "refused" and "permission denied" are told apart.
  static std::variant<std::unique_ptr<AdminClient>, Failure> Connect(const std::string& socket);

  admin::v1::Admin::Stub& stub() { return *stub_; }
  const std::string& socket() const { return socket_; }

 private:
  AdminClient(std::unique_ptr<admin::v1::Admin::Stub> stub, std::string socket);

  const std::unique_ptr<admin::v1::Admin::Stub> stub_;
  const std::string socket_;
};

// The context of one call that ends after `timeout`.
std::unique_ptr<grpc::ClientContext> ContextFor(absl::Duration timeout);

}  // namespace cohost::supervisor
