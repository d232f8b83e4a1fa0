// SPDX-License-Identifier: Apache-2.0
#include "worker/native/host/request_table.h"

#include <span>
#include <utility>

namespace cohost::worker::native {
namespace {

void Convert(std::span<const HeaderView> from, std::vector<cohost_header>& to) {
  to.clear();
  to.reserve(from.size());
  for (const HeaderView& header : from) {
    to.push_back(
        {{header.name.data(), header.name.size()}, {header.value.data(), header.value.size()}});
  }
}

}  // namespace

RequestTable& RequestTable::Process() {
  // Never destroyed: threads of modules may come with a number until the process is gone.
  static RequestTable* const table = new RequestTable;
  return *table;
}

cohost_request RequestTable::Add(std::shared_ptr<Exchange> exchange, ServiceHost& service) {
  uint32_t index = 0;
  {
    MutexLock lock(mutex_);
    if (free_.empty()) {
      if (chunk_count_ == chunks_.size()) return 0;
      owned_.push_back(std::make_unique<Chunk>());
      chunks_[chunk_count_].store(owned_.back().get(), std::memory_order_release);
      // The lowest slots first, so that few of them are ever touched.
      for (uint32_t i = kChunkSlots; i > 0; --i) {
        free_.push_back(chunk_count_ * kChunkSlots + i - 1);
      }
      ++chunk_count_;
    }
    index = free_.back();
    free_.pop_back();
  }
  size_.fetch_add(1, std::memory_order_relaxed);
  Slot& slot = *SlotOf(index);
  MutexLock lock(slot.mutex);
  slot.number = ++slot.uses << kSlotBits | index;
  slot.exchange = std::move(exchange);
  slot.service = &service;
  slot.data = nullptr;
  slot.cancelled = false;
  slot.headers.clear();
  slot.trailers.clear();
  return slot.number;
}

RequestTable::Found RequestTable::Find(cohost_request request) const {
  const Slot* slot = SlotOf(request);
  if (slot == nullptr) return {};
  MutexLock lock(slot->mutex);
  if (slot->number != request || request == 0) return {};
  return {slot->exchange, slot->service, slot->cancelled};
}

RequestTable::Found RequestTable::Remove(cohost_request request) {
  Slot* slot = SlotOf(request);
  if (slot == nullptr) return {};
  Found found;
  {
    MutexLock lock(slot->mutex);
    if (slot->number != request || request == 0) return {};
    found = Clear(*slot);
  }
  Release(static_cast<uint32_t>(request & (kMaxRequests - 1)));
  return found;
}

void RequestTable::RemoveAll(ServiceHost& service) {
  for (uint32_t index = 0; index < kMaxRequests; ++index) {
    Slot* slot = SlotOf(index);
    if (slot == nullptr) return;
    Found found;
    {
      MutexLock lock(slot->mutex);
      if (slot->number == 0 || slot->service != &service) continue;
      found = Clear(*slot);
    }
    Release(index);
  }
}

bool RequestTable::MarkCancelled(cohost_request request) {
  Slot* slot = SlotOf(request);
  if (slot == nullptr) return false;
  MutexLock lock(slot->mutex);
  if (slot->number != request || request == 0) return false;
  slot->cancelled = true;
  return true;
}

bool RequestTable::SetData(cohost_request request, void* data) {
  Slot* slot = SlotOf(request);
  if (slot == nullptr) return false;
  MutexLock lock(slot->mutex);
  if (slot->number != request || request == 0) return false;
  slot->data = data;
  return true;
}

void* RequestTable::Data(cohost_request request) const {
  const Slot* slot = SlotOf(request);
  if (slot == nullptr) return nullptr;
  MutexLock lock(slot->mutex);
  return slot->number == request && request != 0 ? slot->data : nullptr;
}

const std::vector<cohost_header>* RequestTable::Headers(cohost_request request) {
  Slot* slot = SlotOf(request);
  if (slot == nullptr) return nullptr;
  MutexLock lock(slot->mutex);
  if (slot->number != request || request == 0) return nullptr;
  if (slot->headers.empty()) Convert(slot->exchange->headers(), slot->headers);
  return &slot->headers;
}

const std::vector<cohost_header>* RequestTable::Trailers(cohost_request request) {
  Slot* slot = SlotOf(request);
  if (slot == nullptr) return nullptr;
  MutexLock lock(slot->mutex);
  if (slot->number != request || request == 0) return nullptr;
  if (slot->trailers.empty()) Convert(slot->exchange->trailers(), slot->trailers);
  return &slot->trailers;
}

RequestTable::Slot* RequestTable::SlotOf(cohost_request request) const {
  const auto index = static_cast<uint32_t>(request & (kMaxRequests - 1));
  Chunk* chunk = chunks_[index / kChunkSlots].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &(*chunk)[index % kChunkSlots];
}

RequestTable::Found RequestTable::Clear(Slot& slot) {
  slot.number = 0;
  return {std::move(slot.exchange), std::exchange(slot.service, nullptr), slot.cancelled};
}

void RequestTable::Release(uint32_t index) {
  size_.fetch_sub(1, std::memory_order_relaxed);
  MutexLock lock(mutex_);
  free_.push_back(index);
}

}  // namespace cohost::worker::native
