// SPDX-License-Identifier: Apache-2.0
#include "worker/services/admission.h"

#include <utility>

namespace cohost::worker {

void AdmittedExchange::NoteCall() {
  if (!call_pending_ || admission_ == nullptr) return;
  if (call_.load(std::memory_order_acquire) == kReturned) admission_->FinishCall(*this);
}

void AdmissionList::Append(AdmittedExchange& exchange) {
  exchange.previous_ = last_;
  exchange.next_ = nullptr;
  (last_ == nullptr ? first_ : last_->next_) = &exchange;
  last_ = &exchange;
}

void AdmissionList::Remove(AdmittedExchange& exchange) {
  (exchange.previous_ == nullptr ? first_ : exchange.previous_->next_) = exchange.next_;
  (exchange.next_ == nullptr ? last_ : exchange.next_->previous_) = exchange.previous_;
}

SteadyTime AdmissionList::oldest() const {
  return first_ == nullptr ? SteadyTime{} : first_->since_;
}

Admission::Admission(ServiceRow& row, uint32_t row_index, uint32_t concurrency, uint32_t queue,
                     HandlerPool& pool, LoopInbox& inbox, const Clock& clock)
    : row_(row),
      row_index_(row_index),
      concurrency_(concurrency),
      queue_(queue),
      pool_(pool),
      inbox_(inbox),
      clock_(clock),
      serial_(pool) {}

Admission::~Admission() {
  // Calls that never return keep their exchanges here; they must not find this object any more.
  for (AdmissionList* list : {&waiting_, &working_}) {
    while (AdmittedExchange* exchange = list->first()) {
      list->Remove(*exchange);
      exchange->admission_ = nullptr;
      exchange->self_.reset();
    }
  }
}

void Admission::Host(HostedService& hosted) { hosted_ = &hosted; }

void Admission::Submit(std::shared_ptr<AdmittedExchange> exchange) {
  AdmittedExchange& added = *exchange;
  const SteadyTime start = added.start();
  if (active_ < concurrency_ && queued_count_ == 0) {
    Begin(std::move(exchange), start);
    return;
  }
  if (queued_count_ >= queue_) {
    added.OnRefused();
    return;
  }
  added.admission_ = this;
  added.place_ = AdmittedExchange::Place::kQueued;
  added.since_ = start;
  added.self_ = std::move(exchange);
  waiting_.Append(added);
  ++queued_count_;
  PublishQueue();
}

void Admission::Begin(std::shared_ptr<AdmittedExchange> exchange, SteadyTime since) {
  AdmittedExchange& begun = *exchange;
  begun.admission_ = this;
  begun.place_ = AdmittedExchange::Place::kWorking;
  begun.since_ = since;
  begun.call_pending_ = true;
  begun.self_ = exchange;
  working_.Append(begun);
  ++active_;
  ++calls_;
  PublishWork();
  if (hosted_->dispatch() == Dispatch::kInline) {
    begun.call_.store(AdmittedExchange::kCalled, std::memory_order_relaxed);
    {
      const ScopedWork work(pool_.slots(), row_index_, since);
      hosted_->Handle(exchange);
    }
    FinishCall(begun);
    return;
  }
  begun.call_.store(AdmittedExchange::kPosted, std::memory_order_relaxed);
  if (PostCall(exchange)) return;
  --calls_;
  begun.call_pending_ = false;
  Leave(begun);
  begun.OnRefused();
  TellIfEmpty();
}

bool Admission::PostCall(const std::shared_ptr<AdmittedExchange>& exchange) {
  auto call = [exchange, hosted = hosted_, row = row_index_, &slots = pool_.slots(),
               &inbox = inbox_, since = exchange->since_] {
    uint32_t posted = AdmittedExchange::kPosted;
    if (exchange->call_.compare_exchange_strong(posted, AdmittedExchange::kCalled)) {
      const ScopedWork work(slots, row, since);
      hosted->Handle(exchange);
    }
    exchange->call_.store(AdmittedExchange::kReturned, std::memory_order_release);
    inbox.Push(exchange);
  };
  if (hosted_->dispatch() == Dispatch::kSerial) return serial_.Post(std::move(call));
  return pool_.Post(std::move(call));
}

void Admission::FinishCall(AdmittedExchange& exchange) {
  --calls_;
  exchange.call_pending_ = false;
  if (exchange.place_ == AdmittedExchange::Place::kAbandoned) Leave(exchange);
  TellIfEmpty();
}

void Admission::End(AdmittedExchange& exchange, const CancelReason* cancelled) {
  using Place = AdmittedExchange::Place;
  switch (exchange.place_) {
    case Place::kNone:
    case Place::kAbandoned:
      return;
    case Place::kQueued: {
      const auto self = TakeQueued(exchange);
      TellIfEmpty();
      return;
    }
    case Place::kClientWaits:
      // What still runs is the service's from here on.
      SetClientWaits(exchange, /*waits=*/false);
      break;
    case Place::kWorking:
      break;
  }
  // A call that has not begun is called off. It keeps its place until its turn in the pool has
  // passed, which bounds what a hung service leaves there.
  uint32_t posted = AdmittedExchange::kPosted;
  const bool called_off = exchange.call_pending_ && exchange.call_.compare_exchange_strong(
                                                        posted, AdmittedExchange::kSkipped);
  exchange.place_ = Place::kAbandoned;
  if (!called_off) {
    const ScopedWork work(pool_.slots(), row_index_, exchange.since_);
    hosted_->Ended(exchange, cancelled);
  }
  if (exchange.call_pending_) return;
  Leave(exchange);
  TellIfEmpty();
}

void Admission::SetClientWaits(AdmittedExchange& exchange, bool waits) {
  using Place = AdmittedExchange::Place;
  if (waits && exchange.place_ == Place::kWorking) {
    working_.Remove(exchange);
    exchange.place_ = Place::kClientWaits;
  } else if (!waits && exchange.place_ == Place::kClientWaits) {
    exchange.since_ = clock_.Steady();
    working_.Append(exchange);
    exchange.place_ = Place::kWorking;
  } else {
    return;
  }
  PublishWork();
}

void Admission::Leave(AdmittedExchange& exchange) {
  working_.Remove(exchange);
  exchange.place_ = AdmittedExchange::Place::kNone;
  exchange.admission_ = nullptr;
  const auto self = std::move(exchange.self_);
  --active_;
  PublishWork();
  StartQueued();
}

std::shared_ptr<AdmittedExchange> Admission::TakeQueued(AdmittedExchange& exchange) {
  waiting_.Remove(exchange);
  --queued_count_;
  PublishQueue();
  exchange.place_ = AdmittedExchange::Place::kNone;
  exchange.admission_ = nullptr;
  return std::move(exchange.self_);
}

void Admission::StartQueued() {
  // An exchange that is begun here may end at once; the loop below goes on for it.
  if (starting_) return;
  starting_ = true;
  while (active_ < concurrency_ && waiting_.first() != nullptr) {
    Begin(TakeQueued(*waiting_.first()), clock_.Steady());
  }
  starting_ = false;
}

void Admission::PublishWork() {
  row_.oldest_request_ns.store(static_cast<uint64_t>(working_.oldest().nanoseconds),
                               std::memory_order_relaxed);
}

void Admission::PublishQueue() {
  row_.queued.store(queued_count_, std::memory_order_relaxed);
  row_.oldest_queued_ns.store(static_cast<uint64_t>(waiting_.oldest().nanoseconds),
                              std::memory_order_relaxed);
}

}  // namespace cohost::worker
