// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "worker/http/http_exchange.h"
#include "worker/loop/loop_inbox.h"
#include "worker/loop/thread_slots.h"

namespace cohost::worker {

// Exchanges that wait to be used again. Thread-safe; exchanges may outlive the pool.
class ExchangePool {
 public:
  ExchangePool(LoopInbox& inbox, ThreadSlots& slots);
  ~ExchangePool();
  ExchangePool(const ExchangePool&) = delete;
  ExchangePool& operator=(const ExchangePool&) = delete;

  std::shared_ptr<HttpExchange> Take();

 private:
  struct Free;
  const std::shared_ptr<Free> free_;
  LoopInbox& inbox_;
  ThreadSlots& slots_;
};

}  // namespace cohost::worker
