// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "worker/loop/handler_pool.h"
#include "worker/loop/thread_slots.h"
#include "worker/loop/timers.h"
#include "worker/native/host/service_calls.h"
#include "worker/native/loader/data_images.h"
#include "worker/native/loader/module.h"
#include "worker/sdk/cohost.h"

namespace cohost::worker::native {

// What a worker lends to its native runtime; all of it outlives the runtime.
struct LentParts {
  HandlerPool& pool;
  const Clock& clock;
  Log& log;
  // Runs a function on the I/O thread, later. Any thread.
  std::function<void(std::function<void()>)> post_to_io;
  // For calls between services.
  CallTarget& call_target;
  uint32_t generation = 0;
};

// What all native services of a worker share. Owned by the runtime; each part says which thread may
// call it.
struct RuntimeParts {
  // `table`: what modules get of the host; lives as long as the process.
  RuntimeParts(LentParts parts, const cohost_host& table)
      : lent(std::move(parts)), modules(table), timers(std::make_unique<Timers>(lent.clock)) {}

  ThreadSlots& slots() { return lent.pool.slots(); }

  const LentParts lent;
  ModuleSet modules;
  DataImages images;
  // Ended before the services' hosts are: its thread calls them.
  std::unique_ptr<Timers> timers;
};

}  // namespace cohost::worker::native
