// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "grpcpp/support/status.h"

namespace cohost::supervisor {

// What cohostctl's exit status says.
enum class ExitCode {
  kDone = 0,
  // The call is wrong: unknown name, bad usage, a deployment with errors.
  kWrongCall = 1,
  // The host was not reached or did not answer in time.
  kNoHost = 2,
};

// Why a command ends early: for people, what went wrong, where, and what to do.
struct Failure {
  ExitCode code = ExitCode::kWrongCall;
  std::string message;
};

// The failure of a call to the host behind `socket`. `status` is not OK.
Failure CallFailure(const grpc::Status& status, const std::string& socket);

}  // namespace cohost::supervisor
