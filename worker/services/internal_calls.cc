// SPDX-License-Identifier: Apache-2.0
#include "worker/services/internal_calls.h"

#include <utility>

#include "boost/asio/post.hpp"
#include "worker/loop/loop_timer.h"
#include "worker/sdk/cohost.h"

namespace cohost::worker {

struct InternalCalls::Draining {
  explicit Draining(boost::asio::io_context& io) : timer(io) {}

  LoopTimer timer;
  std::function<void()> done;
};

InternalCalls::InternalCalls(boost::asio::io_context& io, ServiceTable& table, const Clock& clock)
    : io_(io), table_(table), clock_(clock) {}

void InternalCalls::SetServes(const std::string& name, uint64_t service_id, bool serves) {
  const MutexLock lock(mutex_);
  if (serves) {
    serving_[name] = service_id;
  } else if (const auto found = serving_.find(name);
             found != serving_.end() && found->second == service_id) {
    serving_.erase(found);
  }
}

uint64_t InternalCalls::FindServing(const std::string& name) {
  const MutexLock lock(mutex_);
  const auto found = serving_.find(name);
  return found == serving_.end() ? 0 : found->second;
}

bool InternalCalls::Serves(const std::string& service) { return FindServing(service) != 0; }

std::shared_ptr<native::PendingCall> InternalCalls::Call(
    native::OutgoingCall call, std::function<void(native::CallResult)> done) {
  // The exchange's own number in open_, known only once it exists.
  const auto key = std::make_shared<const InternalExchange*>(nullptr);
  std::string service = call.service;
  auto exchange = std::make_shared<InternalExchange>(
      io_, clock_, std::move(call), [this, key, done = std::move(done)](native::CallResult result) {
        done(std::move(result));
        OnEnded(*key);
      });
  *key = exchange.get();
  boost::asio::post(io_,
                    [this, exchange, service = std::move(service)] { Begin(exchange, service); });
  return exchange;
}

void InternalCalls::Begin(const std::shared_ptr<InternalExchange>& exchange,
                          const std::string& service) {
  const uint64_t id = FindServing(service);
  ServiceEntry* const entry = id == 0 ? nullptr : table_.Find(id);
  if (entry == nullptr) return exchange->Fail(COHOST_UNAVAILABLE, CancelReason::kRemoved);
  open_.emplace(exchange.get(), std::make_pair(id, exchange));
  exchange->Begin(*entry);
}

void InternalCalls::OnEnded(const InternalExchange* exchange) {
  const auto found = open_.find(exchange);
  if (found == open_.end()) return;
  const uint64_t service_id = found->second.first;
  open_.erase(found);
  const auto draining = draining_.find(service_id);
  if (draining == draining_.end()) return;
  for (const auto& [key, open] : open_) {
    if (open.first == service_id) return;
  }
  const std::shared_ptr<Draining> ended = std::move(draining->second);
  draining_.erase(draining);
  ended->timer.Cancel();
  ended->done();
}

void InternalCalls::Drain(uint64_t service_id, absl::Duration limit, CancelReason reason,
                          std::function<void()> done) {
  bool any = false;
  for (const auto& [key, open] : open_) any = any || open.first == service_id;
  if (!any) return done();
  auto draining = std::make_shared<Draining>(io_);
  draining->done = std::move(done);
  draining->timer.Start(limit, [this, service_id, reason] {
    // A copy: an exchange that ends leaves open_.
    std::vector<std::shared_ptr<InternalExchange>> left;
    for (const auto& [key, open] : open_) {
      if (open.first == service_id) left.push_back(open.second);
    }
    for (const auto& exchange : left) exchange->Fail(COHOST_UNAVAILABLE, reason);
  });
  draining_[service_id] = std::move(draining);
}

}  // namespace cohost::worker
