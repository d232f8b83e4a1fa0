// SPDX-License-Identifier: Apache-2.0
#include "worker/http/exchange_pool.h"

#include <utility>
#include <vector>

#include "base/mutex.h"

namespace cohost::worker {

struct ExchangePool::Free {
  static constexpr size_t kMost = 32;

  Mutex mutex;
  std::vector<std::unique_ptr<HttpExchange>> exchanges ABSL_GUARDED_BY(mutex);
};

ExchangePool::ExchangePool(LoopInbox& inbox, ThreadSlots& slots)
    : free_(std::make_shared<Free>()), inbox_(inbox), slots_(slots) {}

ExchangePool::~ExchangePool() = default;

std::shared_ptr<HttpExchange> ExchangePool::Take() {
  std::unique_ptr<HttpExchange> exchange;
  {
    MutexLock lock(free_->mutex);
    if (!free_->exchanges.empty()) {
      exchange = std::move(free_->exchanges.back());
      free_->exchanges.pop_back();
    }
  }
  if (exchange == nullptr) exchange = std::make_unique<HttpExchange>(inbox_, slots_);
  return {exchange.release(), [free = free_](HttpExchange* returned) mutable {
            // Moved out of the deleter: that lives as long as the exchange's weak reference to
            // itself, which the pool would keep alive, and so itself.
            const std::shared_ptr<Free> pool = std::move(free);
            std::unique_ptr<HttpExchange> owned(returned);
            owned->Clear();
            MutexLock lock(pool->mutex);
            if (pool->exchanges.size() < Free::kMost) pool->exchanges.push_back(std::move(owned));
          }};
}

}  // namespace cohost::worker
