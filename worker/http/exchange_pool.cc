// SPDX-License-Identifier: Apache-2.0
#include "worker/http/exchange_pool.h"

#include <utility>
#include <vector>

#include "base/mutex.h"

namespace cohost::worker {

struct ExchangePool::Free {
  static constexpr size_t kMost = 64;

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
  return {exchange.release(), [free = free_](HttpExchange* returned) {
            std::unique_ptr<HttpExchange> owned(returned);
            owned->Clear();
            MutexLock lock(free->mutex);
            if (free->exchanges.size() < Free::kMost) free->exchanges.push_back(std::move(owned));
          }};
}

}  // namespace cohost::worker
