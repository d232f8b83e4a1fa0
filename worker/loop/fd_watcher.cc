// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/fd_watcher.h"

#include <utility>

#include "boost/asio/posix/stream_descriptor.hpp"

namespace cohost::worker {

using boost::asio::posix::descriptor_base;
using boost::asio::posix::stream_descriptor;

// Shared with the waits in flight: Asio calls their handlers after a cancel too, and those find the
// functions gone.
struct FdWatcher::State : std::enable_shared_from_this<State> {
  State(boost::asio::io_context& io, int fd) : descriptor(io, fd) {}

  struct Direction {
    std::function<void()> ready;
    bool waiting = false;
  };

  void Wait(Direction& direction, descriptor_base::wait_type type, std::function<void()> ready) {
    direction.ready = std::move(ready);
    if (direction.waiting) return;
    direction.waiting = true;
    descriptor.async_wait(type, [self = shared_from_this(), &direction](boost::system::error_code) {
      direction.waiting = false;
      // An error other than a cancel (which left no function) is told as readiness: the user's own
      // system call then sees it.
      if (auto function = std::exchange(direction.ready, nullptr)) function();
    });
  }

  void Cancel() {
    readable.ready = nullptr;
    writable.ready = nullptr;
  }

  stream_descriptor descriptor;
  Direction readable;
  Direction writable;
};

FdWatcher::FdWatcher(boost::asio::io_context& io, int fd)
    : state_(std::make_shared<State>(io, fd)) {}

FdWatcher::~FdWatcher() {
  state_->Cancel();
  // Out of Asio's epoll, but open: its owner closes it.
  (void)state_->descriptor.release();
}

void FdWatcher::WhenReadable(std::function<void()> ready) {
  state_->Wait(state_->readable, descriptor_base::wait_read, std::move(ready));
}

void FdWatcher::WhenWritable(std::function<void()> ready) {
  state_->Wait(state_->writable, descriptor_base::wait_write, std::move(ready));
}

void FdWatcher::Cancel() { state_->Cancel(); }

}  // namespace cohost::worker
