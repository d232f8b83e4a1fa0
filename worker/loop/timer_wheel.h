// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace cohost::worker {

// Which of many timers is due, in ticks: a hierarchical wheel without a clock and without a thread.
// Timers are small numbers of the caller's choice, each at most once in the wheel. Inserting and
// removing cost the same whatever the number of timers; a timer moves down at most once per level.
// Not thread-safe.
//
// Level 0 has 256 slots of one tick, every further level 64 slots, each as long as the whole level
// below. A timer lies on the lowest level whose next longer slot still contains both now and its
// due tick, so its slot is always ahead of now, and every timer of a lower level is due before all
// of a higher one: the next tick worth waking for is the first filled slot of the lowest filled
// level.
class TimerWheel {
 public:
  explicit TimerWheel(uint64_t now) : now_(now) { heads_.fill(kNone); }

  // A tick that is not after now is due with the next one; one beyond 2^50 counts as 2^50 - 1.
  void Insert(uint32_t timer, uint64_t due);
  // Nothing when it is not in the wheel.
  void Remove(uint32_t timer);

  // Moves now to `tick` and appends what became due, in the order of ticks.
  void Advance(uint64_t tick, std::vector<uint32_t>& due);

  // The tick to advance to: nothing is due before it (and perhaps nothing at it). Unset when empty.
  std::optional<uint64_t> NextTick() const;

  uint64_t now() const { return now_; }
  size_t size() const { return size_; }

 private:
  static constexpr uint32_t kNone = 0xffffffff;
  static constexpr uint32_t kLevels = 8;
  static constexpr uint32_t kFirstBits = 8;
  static constexpr uint32_t kBits = 6;
  static constexpr uint32_t kFirstSlots = 1u << kFirstBits;
  static constexpr uint32_t kSlots = kFirstSlots + (kLevels - 1) * (1u << kBits);
  static constexpr uint64_t kLastTick = (uint64_t{1} << (kFirstBits + (kLevels - 1) * kBits)) - 1;

  struct Link {
    uint64_t due = 0;
    uint32_t next = kNone;
    uint32_t previous = kNone;
    uint32_t slot = kNone;  // kNone: not in the wheel
  };
  struct Next {
    uint64_t tick;
    uint32_t slot;
  };

  std::optional<Next> FindNext() const;
  uint32_t SlotOf(uint64_t due) const;
  void Enter(uint32_t timer, uint32_t slot);
  void Leave(uint32_t timer);
  // First filled slot in [begin, end), or kNone.
  uint32_t FirstFilled(uint32_t begin, uint32_t end) const;

  uint64_t now_;
  size_t size_ = 0;
  std::deque<Link> links_;  // by timer
  std::array<uint32_t, kSlots> heads_;
  std::array<uint64_t, kSlots / 64> filled_{};  // a bit a slot
};

}  // namespace cohost::worker
