// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/format/segment.h"

namespace cohost::worker {

// What a thread is doing, as its slot says it.
struct ThreadWork {
  ThreadState state = ThreadState::kIdle;
  uint32_t row = kNoRow;
  SteadyTime start;
};

// Gives every thread that asks its slot of the segment, so that a crash or a hang names the service
// that the thread worked for. A slot is claimed without a lock at the thread's first call and given
// back when the thread ends; when all are taken the thread shares the overflow slot and is counted.
// Thread-safe. The segment stays mapped until the last thread that called has ended; the object
// itself may go earlier.
class ThreadSlots {
 public:
  explicit ThreadSlots(Segment& segment);
  ~ThreadSlots();
  ThreadSlots(const ThreadSlots&) = delete;
  ThreadSlots& operator=(const ThreadSlots&) = delete;

  // Stores `work` in the calling thread's slot; returns what stood there before.
  ThreadWork Exchange(const ThreadWork& work);

  // The calling thread's slot.
  ThreadSlot& Current();

  // The stripe of ServiceCounters that the calling thread adds to.
  uint32_t CurrentStripe();

 private:
  struct State;
  struct ThreadClaim;
  static ThreadClaim& Claim();

  // Shared with the threads' claims, so that a thread that ends after this object finds its slot.
  const std::shared_ptr<State> state_;
};

// Marks the calling thread as working for `row` until the scope ends, then restores what it did
// before: calls may nest.
class ScopedWork {
 public:
  ScopedWork(ThreadSlots& slots, uint32_t row, SteadyTime start)
      : slots_(slots), before_(slots.Exchange({ThreadState::kInService, row, start})) {}
  ~ScopedWork() { slots_.Exchange(before_); }
  ScopedWork(const ScopedWork&) = delete;
  ScopedWork& operator=(const ScopedWork&) = delete;

 private:
  ThreadSlots& slots_;
  const ThreadWork before_;
};

}  // namespace cohost::worker
