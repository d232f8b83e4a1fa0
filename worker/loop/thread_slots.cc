// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/thread_slots.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace cohost::worker {

struct ThreadSlots::State {
  explicit State(Segment& s) : segment(s) {}
  Segment& segment;
};

// The calling thread's slot. Holds the State weakly: make_shared keeps its address taken as long as
// a weak reference exists, so comparing addresses never confuses two ThreadSlots.
struct ThreadSlots::ThreadClaim {
  std::weak_ptr<State> owner;
  State* state = nullptr;
  ThreadSlot* slot = nullptr;
  uint32_t index = 0;

  ~ThreadClaim() { Release(); }

  void Take(const std::shared_ptr<State>& from) {
    Release();
    owner = from;
    state = from.get();
    const auto thread_id = static_cast<uint32_t>(syscall(SYS_gettid));
    auto& threads = from->segment.threads;
    // From the front, so that few pages of the segment are ever touched.
    for (index = 0; index < kThreadSlots; ++index) {
      uint32_t free = 0;
      if (threads[index].thread_id.load(std::memory_order_relaxed) == 0 &&
          threads[index].thread_id.compare_exchange_strong(free, thread_id)) {
        slot = &threads[index];
        return;
      }
    }
    from->segment.header.thread_slot_overflows.fetch_add(1, std::memory_order_relaxed);
    slot = &threads[kThreadSlots];
    slot->thread_id.store(thread_id, std::memory_order_relaxed);
  }

  void Release() {
    if (slot == nullptr) return;
    // The overflow slot is shared: it keeps what was written last.
    if (const auto alive = owner.lock(); alive != nullptr && index < kThreadSlots) {
      slot->request_start_ns.store(0, std::memory_order_relaxed);
      slot->row.store(kNoRow, std::memory_order_relaxed);
      slot->state.store(static_cast<uint32_t>(ThreadState::kFree), std::memory_order_relaxed);
      slot->thread_id.store(0, std::memory_order_release);
    }
    slot = nullptr;
    state = nullptr;
  }
};

ThreadSlots::ThreadSlots(Segment& segment) : state_(std::make_shared<State>(segment)) {}

ThreadSlots::~ThreadSlots() {
  // The destroying thread goes on without a slot; the others give theirs up when they end.
  if (ThreadClaim& claim = Claim(); claim.state == state_.get()) claim.Release();
}

ThreadSlots::ThreadClaim& ThreadSlots::Claim() {
  thread_local ThreadClaim claim;
  return claim;
}

ThreadSlot& ThreadSlots::Current() {
  ThreadClaim& claim = Claim();
  if (claim.state != state_.get()) claim.Take(state_);
  return *claim.slot;
}

uint32_t ThreadSlots::CurrentStripe() {
  Current();
  return Claim().index % kStripes;
}

ThreadWork ThreadSlots::Exchange(const ThreadWork& work) {
  ThreadSlot& slot = Current();
  const ThreadWork before{
      static_cast<ThreadState>(slot.state.load(std::memory_order_relaxed)),
      slot.row.load(std::memory_order_relaxed),
      {static_cast<int64_t>(slot.request_start_ns.load(std::memory_order_relaxed))}};
  slot.request_start_ns.store(static_cast<uint64_t>(work.start.nanoseconds),
                              std::memory_order_relaxed);
  slot.row.store(work.row, std::memory_order_relaxed);
  // Last: a reader that sees kInService sees its row.
  slot.state.store(static_cast<uint32_t>(work.state), std::memory_order_release);
  return before.state == ThreadState::kFree ? ThreadWork{} : before;
}

}  // namespace cohost::worker
