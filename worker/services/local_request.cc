// SPDX-License-Identifier: Apache-2.0
#include "worker/services/local_request.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "worker/loop/fd_watcher.h"
#include "worker/loop/loop_timer.h"

namespace cohost::worker {
namespace {

constexpr size_t kMaxTarget = 4096;
// "HTTP/1.1 200": all that is kept of an answer.
constexpr size_t kStatusLine = 12;
constexpr size_t kReadSize = 16 * 1024;

absl::StatusOr<int> ParseStatus(std::string_view start) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (start.size() < kStatusLine || start.substr(0, 7) != "HTTP/1." ||
      !std::all_of(start.begin() + 9, start.begin() + kStatusLine, is_digit)) {
    return absl::UnavailableError("the connection ended without an answer");
  }
  return (start[9] - '0') * 100 + (start[10] - '0') * 10 + (start[11] - '0');
}

}  // namespace

struct LocalRequest::State : std::enable_shared_from_this<State> {
  State(boost::asio::io_context& io, UniqueFd fd) : socket(std::move(fd)), timer(io) {
    watcher.emplace(io, socket.get());
  }

  void Write() {
    while (!unsent.empty()) {
      const ssize_t sent = ::send(socket.get(), unsent.data(), unsent.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        unsent.erase(0, static_cast<size_t>(sent));
      } else if (sent < 0 && errno == EAGAIN) {
        return watcher->WhenWritable([this] { Write(); });
      } else if (sent < 0 && errno != EINTR) {
        return End(ErrnoStatus(errno, "send", "local request"));
      }
    }
  }

  void Read() {
    std::array<char, kReadSize> buffer;
    const ssize_t size = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (size == 0) return End(ParseStatus(start));
    if (size > 0) {
      const size_t wanted = kStatusLine - start.size();
      start.append(buffer.data(), std::min(wanted, static_cast<size_t>(size)));
    } else if (errno != EAGAIN && errno != EINTR) {
      return End(ErrnoStatus(errno, "recv", "local request"));
    }
    // One part a turn: a long answer keeps nobody else waiting.
    watcher->WhenReadable([this] { Read(); });
  }

  void End(absl::StatusOr<int> result) {
    Close();
    // The function may destroy the request; the state stays until it returns.
    const std::shared_ptr<State> self = shared_from_this();
    if (auto function = std::exchange(done, nullptr)) function(std::move(result));
  }

  void Close() {
    timer.Cancel();
    watcher.reset();
    socket.Reset();
  }

  UniqueFd socket;
  std::optional<FdWatcher> watcher;  // as long as socket is valid
  LoopTimer timer;
  std::string unsent;
  std::string start;  // of the answer
  std::function<void(absl::StatusOr<int>)> done;
};

LocalRequest::LocalRequest(boost::asio::io_context& io, UniqueFd socket, const std::string& target,
                           absl::Duration timeout, std::function<void(absl::StatusOr<int>)> done)
    : state_(std::make_shared<State>(io, std::move(socket))) {
  State& state = *state_;
  state.done = std::move(done);
  state.unsent = absl::StrCat("GET ", target,
                              " HTTP/1.1\r\nHost: localhost\r\nUser-Agent: cohost-worker\r\n"
                              "Accept: */*\r\nConnection: close\r\n\r\n");
  // Nothing is called from inside the constructor: the first write waits for its turn too.
  state.watcher->WhenWritable([&state] { state.Write(); });
  state.watcher->WhenReadable([&state] { state.Read(); });
  state.timer.Start(timeout,
                    [&state] { state.End(absl::DeadlineExceededError("no answer in time")); });
}

LocalRequest::~LocalRequest() {
  state_->done = nullptr;
  state_->Close();
}

bool IsLocalTarget(const std::string& target) {
  return !target.empty() && target.front() == '/' && target.size() <= kMaxTarget &&
         std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace cohost::worker
