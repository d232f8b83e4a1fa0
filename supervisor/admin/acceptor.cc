// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/acceptor.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace cohost::supervisor {
namespace {

using boost::asio::posix::stream_descriptor;
using std::chrono::steady_clock;

// Long enough to cost nothing, short enough that an operator does not notice.
constexpr auto kPauseWhenExhausted = std::chrono::milliseconds(200);
constexpr auto kProblemInterval = std::chrono::minutes(1);
constexpr int kAcceptsPerWake = 16;
// Connections get descriptor numbers in rotation from this range: gRPC names a peer by its number,
// and a call that starts late must not meet the uid of a newer connection.
constexpr int kFirstNumber = 512;
constexpr int kNumbers = 256;

}  // namespace

class AdminAcceptor::State : public std::enable_shared_from_this<State> {
 public:
  State(boost::asio::io_context& loop, Options options)
      : loop_(loop), listener_(loop), pause_(loop), options_(std::move(options)) {}

  absl::Status Listen(UniqueFd listener) {
    boost::system::error_code error;
    listener_.assign(listener.get(), error);
    if (error) return ErrnoStatus(error.value(), "epoll_ctl", "admin listener");
    listener.Release();
    Wait();
    return absl::OkStatus();
  }

  void Stop() {
    stopped_ = true;
    pause_.cancel();
    boost::system::error_code ignored;  // the descriptor is gone whatever close says
    listener_.close(ignored);
    watches_.clear();
  }

  uint64_t accept_errors() const { return accept_errors_.load(std::memory_order_relaxed); }

 private:
  void Wait() {
    listener_.async_wait(stream_descriptor::wait_read,
                         [self = shared_from_this()](const boost::system::error_code& error) {
                           if (!error && !self->stopped_) self->AcceptSome();
                         });
  }

  void AcceptSome();
  void TakeOver(UniqueFd connection);
  absl::Status WatchEnd(int number, UniqueFd duplicate);
  void Pause(int error);
  void Report(const std::string& cause, const std::string& text);

  // Set in the constructor, never changed.
  boost::asio::io_context& loop_;
  // All below: loop thread only.
  stream_descriptor listener_;
  boost::asio::steady_timer pause_;
  const Options options_;
  bool stopped_ = false;
  int next_number_ = 0;
  // A duplicate of each open connection, by the number that gRPC has: it tells when both directions
  // are shut, which gRPC does before it closes.
  std::map<int, stream_descriptor> watches_;
  std::map<std::string, steady_clock::time_point> last_report_;
  // Written by the loop thread, read by any.
  std::atomic<uint64_t> accept_errors_{0};
};

void AdminAcceptor::State::AcceptSome() {
  for (int i = 0; i < kAcceptsPerWake; ++i) {
    UniqueFd connection(
        ::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection.valid()) {
      TakeOver(std::move(connection));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    return Pause(errno);
  }
  Wait();
}

void AdminAcceptor::State::TakeOver(UniqueFd connection) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    Report("peer", std::string(ErrnoStatus(errno, "getsockopt SO_PEERCRED", "").message()));
    return;
  }
  const std::vector<uid_t>& allowed = options_.allowed_uids;
  if (peer.uid != 0 && peer.uid != ::geteuid() &&
      std::find(allowed.begin(), allowed.end(), peer.uid) == allowed.end()) {
    Report("refused",
           absl::StrCat("refused an admin connection of uid ", peer.uid, ", pid ", peer.pid));
    return;
  }
  if (watches_.size() >= options_.max_connections) {
    Report("full", absl::StrCat("closed an admin connection: ", watches_.size(), " are open"));
    return;
  }
  UniqueFd moved(::fcntl(connection.get(), F_DUPFD_CLOEXEC, kFirstNumber + next_number_));
  next_number_ = (next_number_ + 1) % kNumbers;
  // Where the limit of open files is below the range, the number is what the kernel gave.
  UniqueFd duplicate(::fcntl(connection.get(), F_DUPFD_CLOEXEC, 0));
  UniqueFd& handed = moved.valid() ? moved : connection;
  if (!duplicate.valid()) {
    accept_errors_.fetch_add(1, std::memory_order_relaxed);
    Report("accept", std::string(ErrnoStatus(errno, "dup", "an admin connection").message()));
    return;
  }
  const int number = handed.get();
  if (absl::Status status = WatchEnd(number, std::move(duplicate)); !status.ok()) {
    Report("accept", std::string(status.message()));
    return;
  }
  options_.on_connection(std::move(handed), peer.uid);
}

absl::Status AdminAcceptor::State::WatchEnd(int number, UniqueFd duplicate) {
  // A number can come back before its end was handled here: the older connection has ended.
  watches_.erase(number);
  const int watched = duplicate.get();
  stream_descriptor watch(loop_);
  boost::system::error_code error;
  watch.assign(watched, error);
  if (error) return ErrnoStatus(error.value(), "epoll_ctl", "an admin connection");
  duplicate.Release();
  stream_descriptor& kept = watches_.try_emplace(number, std::move(watch)).first->second;
  kept.async_wait(stream_descriptor::wait_error, [self = shared_from_this(), number,
                                                  watched](const boost::system::error_code& code) {
    if (code || self->stopped_) return;
    const auto it = self->watches_.find(number);
    if (it == self->watches_.end() || it->second.native_handle() != watched) return;
    self->watches_.erase(it);
    self->options_.on_end(number);
  });
  return absl::OkStatus();
}

void AdminAcceptor::State::Pause(int error) {
  accept_errors_.fetch_add(1, std::memory_order_relaxed);
  Report("accept", absl::StrCat(ErrnoStatus(error, "accept", "admin connection").message(),
                                "; trying again every 200 ms"));
  pause_.expires_after(kPauseWhenExhausted);
  pause_.async_wait([self = shared_from_this()](const boost::system::error_code& code) {
    if (!code && !self->stopped_) self->AcceptSome();
  });
}

void AdminAcceptor::State::Report(const std::string& cause, const std::string& text) {
  const auto now = steady_clock::now();
  const auto [it, first] = last_report_.try_emplace(cause, now);
  if (!first && now - it->second < kProblemInterval) return;
  it->second = now;
  options_.on_problem(text);
}

AdminAcceptor::AdminAcceptor(std::shared_ptr<State> state) : state_(std::move(state)) {}

AdminAcceptor::~AdminAcceptor() { state_->Stop(); }

absl::StatusOr<std::unique_ptr<AdminAcceptor>> AdminAcceptor::Start(boost::asio::io_context& loop,
                                                                    UniqueFd listener,
                                                                    Options options) {
  const int flags = ::fcntl(listener.get(), F_GETFL);
  if (flags < 0) return ErrnoStatus(errno, "fcntl F_GETFL", "admin listener");
  if ((flags & O_NONBLOCK) == 0) {
    return absl::FailedPreconditionError("the admin listener is a blocking descriptor");
  }
  auto state = std::make_shared<State>(loop, std::move(options));
  COHOST_RETURN_IF_ERROR(state->Listen(std::move(listener)));
  return std::unique_ptr<AdminAcceptor>(new AdminAcceptor(std::move(state)));
}

uint64_t AdminAcceptor::accept_errors() const { return state_->accept_errors(); }

}  // namespace cohost::supervisor
