// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/timer_wheel.h"

#include <algorithm>
#include <bit>

namespace cohost::worker {

void TimerWheel::Insert(uint32_t timer, uint64_t due) {
  Remove(timer);
  if (timer >= links_.size()) links_.resize(size_t{timer} + 1);
  links_[timer].due = std::min(std::max(due, now_ + 1), kLastTick);
  Enter(timer, SlotOf(links_[timer].due));
  ++size_;
}

void TimerWheel::Remove(uint32_t timer) {
  if (timer >= links_.size() || links_[timer].slot == kNone) return;
  Leave(timer);
  --size_;
}

void TimerWheel::Advance(uint64_t tick, std::vector<uint32_t>& due) {
  while (now_ < tick) {
    const std::optional<Next> next = FindNext();
    if (!next || next->tick > tick) {
      now_ = tick;
      return;
    }
    now_ = next->tick;
    // A slot of level 0 is due as a whole; one of a higher level begins now and is spread over the
    // levels below, apart from what is due at its very first tick.
    for (uint32_t timer = heads_[next->slot]; timer != kNone; timer = heads_[next->slot]) {
      Leave(timer);
      if (links_[timer].due <= now_) {
        --size_;
        due.push_back(timer);
      } else {
        Enter(timer, SlotOf(links_[timer].due));
      }
    }
  }
}

std::optional<uint64_t> TimerWheel::NextTick() const {
  const std::optional<Next> next = FindNext();
  if (!next) return std::nullopt;
  return next->tick;
}

std::optional<TimerWheel::Next> TimerWheel::FindNext() const {
  if (size_ == 0) return std::nullopt;
  uint32_t first = 0;
  uint32_t shift = 0;
  for (uint32_t level = 0; level < kLevels; ++level) {
    const uint32_t bits = level == 0 ? kFirstBits : kBits;
    const uint32_t count = 1u << bits;
    const auto here = static_cast<uint32_t>((now_ >> shift) & (count - 1));
    const uint32_t slot = FirstFilled(first + here + 1, first + count);
    if (slot != kNone) {
      const uint64_t above = now_ >> (shift + bits) << (shift + bits);
      return Next{above | (uint64_t{slot - first} << shift), slot};
    }
    first += count;
    shift += bits;
  }
  return std::nullopt;
}

uint32_t TimerWheel::SlotOf(uint64_t due) const {
  uint32_t first = 0;
  uint32_t shift = 0;
  for (uint32_t level = 0;; ++level) {
    const uint32_t bits = level == 0 ? kFirstBits : kBits;
    const uint32_t count = 1u << bits;
    if (level == kLevels - 1 || due >> (shift + bits) == now_ >> (shift + bits)) {
      return first + static_cast<uint32_t>((due >> shift) & (count - 1));
    }
    first += count;
    shift += bits;
  }
}

void TimerWheel::Enter(uint32_t timer, uint32_t slot) {
  Link& link = links_[timer];
  link.slot = slot;
  link.previous = kNone;
  link.next = heads_[slot];
  if (link.next != kNone) links_[link.next].previous = timer;
  heads_[slot] = timer;
  filled_[slot / 64] |= uint64_t{1} << (slot % 64);
}

void TimerWheel::Leave(uint32_t timer) {
  Link& link = links_[timer];
  if (link.next != kNone) links_[link.next].previous = link.previous;
  if (link.previous != kNone) {
    links_[link.previous].next = link.next;
  } else {
    heads_[link.slot] = link.next;
    if (link.next == kNone) filled_[link.slot / 64] &= ~(uint64_t{1} << (link.slot % 64));
  }
  link.slot = kNone;
}

uint32_t TimerWheel::FirstFilled(uint32_t begin, uint32_t end) const {
  while (begin < end) {
    const uint64_t word = filled_[begin / 64] >> (begin % 64);
    if (word != 0) {
      const uint32_t slot = begin + static_cast<uint32_t>(std::countr_zero(word));
      return slot < end ? slot : kNone;
    }
    begin = (begin / 64 + 1) * 64;
  }
  return kNone;
}

}  // namespace cohost::worker
