// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "boost/asio/io_context.hpp"
#include "worker/loop/loop_timer.h"
#include "worker/native/host/service_calls.h"
#include "worker/services/admission.h"
#include "worker/services/service_entry.h"

namespace cohost::worker {

// One call from a service to another of the same worker: a request that comes without a connection,
// and an answer that is collected in memory. It waits in the called service's queue and counts as
// its other requests do. The methods of Exchange and PendingCall are thread-safe, the rest is the
// I/O thread's. Held by whoever waits for it; ends by its deadline at the latest.
class InternalExchange final : public AdmittedExchange, public native::PendingCall {
 public:
  // `ended` is called once, on the I/O thread, when the exchange has left the service.
  InternalExchange(boost::asio::io_context& io, const Clock& clock, native::OutgoingCall call,
                   std::function<void(native::CallResult)> ended);

  // Submits it to `entry`, which stays until `ended` is called.
  void Begin(ServiceEntry& entry);
  // Ends it before it began, or without its answer.
  void Fail(int32_t status, CancelReason reason);

  // PendingCall
  void Cancel() override;

  // Exchange
  std::string_view method() const override { return call_.method; }
  std::string_view target() const override { return call_.target; }
  std::span<const HeaderView> headers() const override { return headers_; }
  std::string_view peer() const override { return "internal"; }
  std::optional<uint64_t> content_length() const override { return call_.body.size(); }
  SteadyTime start() const override { return call_.start; }
  SteadyTime deadline() const override { return deadline_; }
  ExchangeResult ReadBody(char* buffer, size_t size, size_t* read) override;
  std::span<const HeaderView> trailers() const override { return {}; }
  void OnReadable(std::function<void()> ready) override;
  ExchangeResult Respond(uint32_t status, std::span<const HeaderView> headers,
                         std::string_view body) override;
  ExchangeResult SendHead(uint32_t status, std::span<const HeaderView> headers,
                          std::optional<uint64_t> content_length) override;
  ExchangeResult WriteBody(std::string_view part) override;
  void OnWritable(std::function<void()> ready) override;
  ExchangeResult Finish(std::span<const HeaderView> trailers) override;
  void Abort() override;

  // InboxItem
  void OnLoop() override { NoteCall(); }

 protected:
  void OnRefused() override;

 private:
  ExchangeResult TakeHead(uint32_t status, std::span<const HeaderView> headers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ExchangeResult TakeBody(std::string_view part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The service is done with it: `status` becomes the result's, unless it has ended already.
  void Complete(int32_t status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(const CancelReason* cancelled);
  void Count(const native::CallResult& result);
  void CountLimit(LimitHit hit);
  std::shared_ptr<InternalExchange> Self();

  // Set in the constructor, never changed.
  boost::asio::io_context& io_;
  const Clock& clock_;
  const native::OutgoingCall call_;
  const std::vector<HeaderView> headers_;
  // Set before the service gets it, never changed after.
  SteadyTime deadline_;

  // I/O thread only.
  LoopTimer timer_;
  ServiceEntry* entry_ = nullptr;  // null: not begun
  std::function<void(native::CallResult)> ended_;

  Mutex mutex_;
  size_t read_ ABSL_GUARDED_BY(mutex_) = 0;  // of the request's body
  bool head_taken_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<uint64_t> announced_ ABSL_GUARDED_BY(mutex_);  // length of the answer's body
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;                 // of the answer's body
  bool complete_ ABSL_GUARDED_BY(mutex_) = false;
  native::CallResult result_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cohost::worker
