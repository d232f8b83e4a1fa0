// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/admin_client.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/system/unique_fd.h"
#include "grpcpp/create_channel_posix.h"
#include "grpcpp/support/channel_arguments.h"

namespace cohost::supervisor {
namespace {

// For the one case in which a unix connect blocks: the host's accept queue is full.
constexpr timeval kConnectTimeout = {5, 0};
// Answers of ten thousand services are 5 MiB.
constexpr int kLargestMessage = 64 << 20;

Failure ConnectFailure(int error, const std::string& socket) {
  const std::string what = "cannot reach a host at " + socket + ": ";
  switch (error) {
    case ENOENT:
    case ECONNREFUSED:
      return {ExitCode::kNoHost,
              what + (error == ENOENT ? "there is no such socket" : "nobody listens on it") +
                  "; is the host running? Start one with `cohostd --config FILE`, or name its "
                  "socket with --socket or COHOST_SOCKET"};
    case EACCES:
    case EPERM:
      return {ExitCode::kNoHost,
              what + "permission denied; call as root or as the user that runs the host"};
    case EAGAIN:
      return {ExitCode::kNoHost, what + "its accept queue is full; the host may hang"};
    default:
      return {ExitCode::kNoHost, what + std::strerror(error)};
  }
}

}  // namespace

AdminClient::AdminClient(std::unique_ptr<admin::v1::Admin::Stub> stub, std::string socket)
    : stub_(std::move(stub)), socket_(std::move(socket)) {}

std::variant<std::unique_ptr<AdminClient>, Failure> AdminClient::Connect(
    const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.empty() || socket.size() >= sizeof(address.sun_path)) {
    return Failure{ExitCode::kWrongCall,
                   "the socket's path '" + socket + "' is empty or longer than 107 bytes"};
  }
  socket.copy(address.sun_path, sizeof(address.sun_path) - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ConnectFailure(errno, socket);
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kConnectTimeout, sizeof(kConnectTimeout)) !=
          0 ||
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) {
    return ConnectFailure(errno, socket);
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kLargestMessage);
  auto channel = grpc::CreateCustomInsecureChannelFromFd("cohost", fd.Release(), arguments);
  return std::unique_ptr<AdminClient>(new AdminClient(admin::v1::Admin::NewStub(channel), socket));
}

std::unique_ptr<grpc::ClientContext> ContextFor(absl::Duration timeout) {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
  return context;
}

}  // namespace cohost::supervisor
