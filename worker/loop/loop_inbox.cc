// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/loop_inbox.h"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace cohost::worker {

struct LoopInbox::State {
  Mutex mutex;
  std::vector<std::shared_ptr<InboxItem>> items ABSL_GUARDED_BY(mutex);
  bool posted ABSL_GUARDED_BY(mutex) = false;
  // I/O thread only. Kept for its memory.
  std::vector<std::shared_ptr<InboxItem>> delivering;
};

LoopInbox::LoopInbox(boost::asio::io_context& io) : io_(io), state_(std::make_shared<State>()) {}

LoopInbox::~LoopInbox() = default;

void LoopInbox::Push(std::shared_ptr<InboxItem> item) {
  if (item->waiting_.exchange(true)) return;
  {
    MutexLock lock(state_->mutex);
    state_->items.push_back(std::move(item));
    if (std::exchange(state_->posted, true)) return;
  }
  boost::asio::post(io_, [state = state_] { Deliver(state); });
}

void LoopInbox::Deliver(const std::shared_ptr<State>& state) {
  std::vector<std::shared_ptr<InboxItem>> items = std::move(state->delivering);
  {
    MutexLock lock(state->mutex);
    items.swap(state->items);
    state->posted = false;
  }
  for (auto& item : items) {
    // First: what is said to the item from here on brings it again.
    item->waiting_.store(false);
    item->OnLoop();
    item.reset();
  }
  items.clear();
  state->delivering = std::move(items);
}

}  // namespace cohost::worker
