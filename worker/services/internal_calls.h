// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "boost/asio/io_context.hpp"
#include "worker/native/host/service_calls.h"
#include "worker/services/internal_exchange.h"
#include "worker/services/service_table.h"

namespace cohost::worker {

// Calls between the services of this worker. Serves and Call are thread-safe, the rest is the I/O
// thread's. References outlive it.
class InternalCalls final : public native::CallTarget {
 public:
  InternalCalls(boost::asio::io_context& io, ServiceTable& table, const Clock& clock);

  // Whether the service takes calls from now on.
  void SetServes(const std::string& name, uint64_t service_id, bool serves);
  // Waits until the service has no calls on their way, cancels those that are left after `limit`,
  // then calls `done` once, at once or later.
  void Drain(uint64_t service_id, absl::Duration limit, CancelReason reason,
             std::function<void()> done);

  bool Serves(const std::string& service) override;
  std::shared_ptr<native::PendingCall> Call(native::OutgoingCall call,
                                            std::function<void(native::CallResult)> done) override;

 private:
  struct Draining;

  // 0 when it takes none.
  uint64_t FindServing(const std::string& name);
  void Begin(const std::shared_ptr<InternalExchange>& exchange, const std::string& service);
  void OnEnded(const InternalExchange* exchange);

  // Set in the constructor, never changed.
  boost::asio::io_context& io_;
  ServiceTable& table_;
  const Clock& clock_;

  // I/O thread only. By exchange: the service that it is in.
  std::map<const InternalExchange*, std::pair<uint64_t, std::shared_ptr<InternalExchange>>> open_;
  std::map<uint64_t, std::shared_ptr<Draining>> draining_;

  Mutex mutex_;
  std::map<std::string, uint64_t> serving_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cohost::worker
