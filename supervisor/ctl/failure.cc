// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/failure.h"

namespace cohost::supervisor {

Failure CallFailure(const grpc::Status& status, const std::string& socket) {
  switch (status.error_code()) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::OUT_OF_RANGE:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return {ExitCode::kWrongCall, status.error_message()};
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return {ExitCode::kNoHost, "the host behind " + socket +
                                     " did not answer in time; --timeout allows it more, and its "
                                     "log says what it is doing"};
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::CANCELLED:
      return {ExitCode::kNoHost,
              "the host behind " + socket +
                  " ended the connection: it is stopping, it does not admit this user (only root "
                  "and the user that runs it may connect), or it has too many connections"};
    case grpc::StatusCode::UNIMPLEMENTED:
      return {ExitCode::kNoHost, "the host behind " + socket +
                                     " does not know this call; cohostctl and host are of "
                                     "different versions"};
    case grpc::StatusCode::OK:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::DATA_LOSS:
    case grpc::StatusCode::DO_NOT_USE:
      break;
  }
  return {ExitCode::kNoHost, "the host behind " + socket + " failed: " + status.error_message()};
}

}  // namespace cohost::supervisor
