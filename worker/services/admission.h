// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/format/segment.h"
#include "worker/loop/handler_pool.h"
#include "worker/loop/loop_inbox.h"
#include "worker/loop/serial_queue.h"
#include "worker/services/exchange.h"
#include "worker/services/hosted_service.h"

namespace cohost::worker {

class Admission;
class AdmissionList;

// An exchange that can stand in a service's queue and be in its code. The methods here are called
// on the I/O thread.
class AdmittedExchange : public Exchange, public InboxItem {
 public:
  // To be called by OnLoop: takes note of a call to Handle that has returned.
  void NoteCall();
  // Whether it stands in the queue or is in the service's code, not ended.
  bool admitted() const { return place_ != Place::kNone && place_ != Place::kAbandoned; }

 protected:
  // The service has no room for it, now or after having waited: to be answered 503.
  virtual void OnRefused() = 0;

 private:
  friend class Admission;
  friend class AdmissionList;

  enum class Place { kNone, kQueued, kWorking, kClientWaits, kAbandoned };
  // Of the call to Handle. Any thread.
  enum Call : uint32_t { kNotPosted, kPosted, kCalled, kSkipped, kReturned };

  // I/O thread only.
  Place place_ = Place::kNone;
  bool call_pending_ = false;       // Handle runs or waits for a pool thread
  Admission* admission_ = nullptr;  // while it has a place or a pending call
  AdmittedExchange* previous_ = nullptr;
  AdmittedExchange* next_ = nullptr;
  SteadyTime since_;  // began to wait, or to work without waiting for its client
  std::shared_ptr<AdmittedExchange> self_;  // while place_ is not kNone or a call is pending

  std::atomic<uint32_t> call_{kNotPosted};
};

// Exchanges in the order in which they were added: the first is the oldest. Every operation is
// O(1).
class AdmissionList {
 public:
  void Append(AdmittedExchange& exchange);
  void Remove(AdmittedExchange& exchange);
  AdmittedExchange* first() const { return first_; }
  // Of the first; unset when empty.
  SteadyTime oldest() const;

 private:
  AdmittedExchange* first_ = nullptr;
  AdmittedExchange* last_ = nullptr;
};

// Lets exchanges into one service's code: at most `concurrency` at a time, at most `queue` waiting,
// each on the thread that the service asked for. Publishes queue length, oldest request and oldest
// queued in the service's row. I/O thread only; owned by the service entry. A place is free again
// when the exchange has ended and its call to Handle has returned: a service that hangs fills its
// own places and nobody else's.
class Admission {
 public:
  // References outlive it.
  Admission(ServiceRow& row, uint32_t row_index, uint32_t concurrency, uint32_t queue,
            HandlerPool& pool, LoopInbox& inbox, const Clock& clock);
  ~Admission();
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // Before the first Submit.
  void Host(HostedService& hosted);

  // Calls Handle (inline), has it called, queues the exchange, or calls OnRefused.
  void Submit(std::shared_ptr<AdmittedExchange> exchange);
  // The exchange has been answered by the service (`cancelled` null) or ended otherwise. Nothing
  // when it is not admitted (any more).
  void End(AdmittedExchange& exchange, const CancelReason* cancelled);
  // The service waits for the exchange's client, or no longer: that time is not the service's.
  void SetClientWaits(AdmittedExchange& exchange, bool waits);
  // Nothing waits, is in the service's code or runs there for an ended exchange.
  bool empty() const { return active_ == 0 && queued_count_ == 0 && calls_ == 0; }
  // Called whenever it has become empty; for drains.
  void set_on_empty(std::function<void()> callback) { on_empty_ = std::move(callback); }

  uint32_t active() const { return active_; }
  uint32_t queued() const { return queued_count_; }
  // Calls that have not returned, of ended exchanges too.
  uint32_t calls() const { return calls_; }

 private:
  friend class AdmittedExchange;

  void Begin(std::shared_ptr<AdmittedExchange> exchange, SteadyTime since);
  bool PostCall(const std::shared_ptr<AdmittedExchange>& exchange);
  void FinishCall(AdmittedExchange& exchange);
  void Leave(AdmittedExchange& exchange);
  std::shared_ptr<AdmittedExchange> TakeQueued(AdmittedExchange& exchange);
  void StartQueued();
  void PublishWork();
  void PublishQueue();
  void TellIfEmpty() {
    if (on_empty_ && empty()) on_empty_();
  }

  // Set in the constructor, never changed.
  ServiceRow& row_;
  const uint32_t row_index_;
  const uint32_t concurrency_;
  const uint32_t queue_;
  HandlerPool& pool_;
  LoopInbox& inbox_;
  const Clock& clock_;

  // I/O thread only.
  HostedService* hosted_ = nullptr;
  SerialQueue serial_;
  AdmissionList waiting_;
  AdmissionList working_;
  uint32_t active_ = 0;
  uint32_t queued_count_ = 0;
  uint32_t calls_ = 0;
  bool starting_ = false;
  std::function<void()> on_empty_;
};

}  // namespace cohost::worker
