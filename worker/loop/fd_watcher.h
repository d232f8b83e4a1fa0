// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "boost/asio/io_context.hpp"

namespace cohost::worker {

// Says on the I/O loop when a descriptor is ready, and leaves reading and writing to its user. The
// descriptor is not owned: destroy the watcher first. I/O thread only. A watcher that was destroyed
// or cancelled calls nothing any more, also not from inside the call that destroyed it.
class FdWatcher {
 public:
  FdWatcher(boost::asio::io_context& io, int fd);
  ~FdWatcher();

  // Each calls `ready` once; asking again before that replaces the function.
  void WhenReadable(std::function<void()> ready);
  void WhenWritable(std::function<void()> ready);
  void Cancel();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cohost::worker
