// SPDX-License-Identifier: Apache-2.0
#include "supervisor/metrics/metrics_server.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/status.h"
#include "supervisor/metrics/metrics_page.h"
#include "supervisor/metrics/scrape_session.h"

namespace cohost::supervisor {
namespace {

using boost::asio::posix::stream_descriptor;

// Out of descriptors: long enough to cost nothing, short against a scrape interval.
constexpr auto kPauseWhenExhausted = std::chrono::milliseconds(200);

}  // namespace

// The endpoint's thread and all that runs on it.
class MetricsServer::Thread {
 public:
  Thread(SnapshotSource source, MetricsServerOptions options)
      : options_(std::move(options)),
        page_(std::move(source), options_.version),
        listener_(loop_),
        pause_(loop_) {}

  ~Thread() {
    loop_.stop();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Start(UniqueFd listener) {
    boost::system::error_code error;
    listener_.assign(listener.get(), error);
    if (error) return ErrnoStatus(error.value(), "epoll_ctl", "metrics listener");
    listener.Release();
    Wait();
    thread_ = std::thread([this] { loop_.run(); });
    return absl::OkStatus();
  }

 private:
  // Not an Asio acceptor: that would set the listener's file flags, which all holders share.
  void Wait() {
    waiting_ = true;
    listener_.async_wait(stream_descriptor::wait_read,
                         [this](const boost::system::error_code& error) {
                           waiting_ = false;
                           if (!error) AcceptSome();
                         });
  }

  void AcceptSome() {
    while (open_ < options_.max_connections) {
      UniqueFd connection(
          ::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (connection.valid()) {
        Serve(std::move(connection));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return Wait();
      } else if (errno != EINTR && errno != ECONNABORTED) {
        return Pause();
      }
    }
    // Full: the end of a connection goes on.
  }

  void Serve(UniqueFd connection) {
    ++open_;
    ScrapeSession::Options options;
    options.io_timeout = options_.io_timeout;
    options.idle_timeout = options_.idle_timeout;
    options.page = [this] { return page_.Render(); };
    options.on_end = [this] {
      --open_;
      if (!waiting_ && !paused_) Wait();
    };
    ScrapeSession::Start(loop_, std::move(connection), std::move(options));
  }

  void Pause() {
    paused_ = true;
    pause_.expires_after(kPauseWhenExhausted);
    pause_.async_wait([this](const boost::system::error_code& error) {
      paused_ = false;
      if (!error) AcceptSome();
    });
  }

  const MetricsServerOptions options_;
  // Everything below: the endpoint's thread only.
  MetricsPage page_;
  size_t open_ = 0;
  bool waiting_ = false;
  bool paused_ = false;
  // Destroyed before what its handlers use, after the thread has ended.
  boost::asio::io_context loop_{1};
  stream_descriptor listener_;
  boost::asio::steady_timer pause_;

  std::thread thread_;
};

MetricsServer::MetricsServer(std::unique_ptr<Thread> thread) : thread_(std::move(thread)) {}

MetricsServer::~MetricsServer() = default;

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(SnapshotSource source,
                                                                    UniqueFd listener,
                                                                    MetricsServerOptions options) {
  const int flags = ::fcntl(listener.get(), F_GETFL);
  if (flags < 0) return ErrnoStatus(errno, "fcntl F_GETFL", "metrics listener");
  if ((flags & O_NONBLOCK) == 0) {
    return absl::FailedPreconditionError("the metrics listener is a blocking descriptor");
  }
  auto thread = std::make_unique<Thread>(std::move(source), std::move(options));
  COHOST_RETURN_IF_ERROR(thread->Start(std::move(listener)));
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(thread)));
}

}  // namespace cohost::supervisor
