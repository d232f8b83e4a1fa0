// SPDX-License-Identifier: Apache-2.0
#include "tests/support/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/status.h"

namespace cohost::testing {

absl::StatusOr<HttpClient> HttpClient::Connect(uint16_t loopback_port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, /*protocol=*/0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(loopback_port);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return ErrnoStatus(errno, "connect", std::to_string(loopback_port));
  }
  const timeval patience = absl::ToTimeval(kPatience);
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  return HttpClient(std::move(socket));
}

absl::Status HttpClient::Send(const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t size =
        ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno != EINTR) return ErrnoStatus(errno, "send", "client");
    if (size > 0) sent += static_cast<size_t>(size);
  }
  return absl::OkStatus();
}

absl::Status HttpClient::ReadMore() {
  std::array<char, 16384> buffer;
  const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (size > 0) {
    unread_.append(buffer.data(), static_cast<size_t>(size));
    return absl::OkStatus();
  }
  if (size == 0) return absl::UnavailableError("the server closed the connection");
  if (errno == ECONNRESET) return absl::DataLossError("the server reset the connection");
  return ErrnoStatus(errno, "recv", "client");
}

absl::StatusOr<std::string> HttpClient::ReadLine() {
  size_t end;
  while ((end = unread_.find("\r\n")) == std::string::npos) COHOST_RETURN_IF_ERROR(ReadMore());
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 2);
  return line;
}

absl::StatusOr<std::string> HttpClient::ReadChunks() {
  std::string body;
  for (;;) {
    COHOST_ASSIGN_OR_RETURN(const std::string size, ReadLine());
    const size_t length = std::strtoul(size.c_str(), nullptr, 16);
    while (unread_.size() < length) COHOST_RETURN_IF_ERROR(ReadMore());
    body.append(unread_, 0, length);
    unread_.erase(0, length);
    // The chunk's end, or the last chunk's trailers and end.
    COHOST_ASSIGN_OR_RETURN(std::string rest, ReadLine());
    if (length > 0) continue;
    while (!rest.empty()) {
      COHOST_ASSIGN_OR_RETURN(rest, ReadLine());
    }
    return body;
  }
}

absl::StatusOr<HttpAnswer> HttpClient::Receive() {
  size_t head_end;
  while ((head_end = unread_.find("\r\n\r\n")) == std::string::npos) {
    COHOST_RETURN_IF_ERROR(ReadMore());
  }
  HttpAnswer answer;
  answer.head = unread_.substr(0, head_end + 2);
  unread_.erase(0, head_end + 4);
  answer.status = std::atoi(answer.head.c_str() + sizeof("HTTP/1.1"));
  if (answer.head.find("Transfer-Encoding: chunked") != std::string::npos) {
    COHOST_ASSIGN_OR_RETURN(answer.body, ReadChunks());
    return answer;
  }
  const size_t length_at = answer.head.find("Content-Length: ");
  const size_t length =
      length_at == std::string::npos
          ? 0
          : std::strtoul(answer.head.c_str() + length_at + sizeof("Content-Length:"), nullptr, 10);
  while (unread_.size() < length) COHOST_RETURN_IF_ERROR(ReadMore());
  answer.body = unread_.substr(0, length);
  unread_.erase(0, length);
  return answer;
}

absl::StatusOr<HttpAnswer> HttpClient::Get(const std::string& target) {
  COHOST_RETURN_IF_ERROR(Send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  return Receive();
}

bool HttpClient::WaitUntilClosed() {
  absl::Status status;
  while (status.ok()) status = ReadMore();
  return absl::IsUnavailable(status) || absl::IsDataLoss(status);
}

}  // namespace cohost::testing
