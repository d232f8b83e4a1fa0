// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>

#include "boost/asio/io_context.hpp"
#include "boost/asio/steady_timer.hpp"
#include "supervisor/loop/timers.h"

namespace cohost::supervisor {

// Timers of an Asio loop. Loop thread only; the loop outlives it; its end cancels every timer.
class AsioTimers final : public Timers {
 public:
  explicit AsioTimers(boost::asio::io_context& loop) : loop_(loop) {}
  Id After(absl::Duration delay, std::function<void()> fire) override;
  void Cancel(Id id) override { running_.erase(id); }

 private:
  boost::asio::io_context& loop_;
  std::map<Id, std::unique_ptr<boost::asio::steady_timer>> running_;
  Id last_id_ = 0;
  // Ends with this object; handlers that are still queued in the loop look at it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace cohost::supervisor
