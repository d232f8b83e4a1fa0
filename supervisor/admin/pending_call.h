// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "grpcpp/support/server_callback.h"

namespace cohost::supervisor {

// A unary call that is answered later, from another thread. A call that its client gave up, or that
// a shutdown cancels, ends at once, whether or not the answer ever comes (RPC-01): whoever answers
// holds the ticket, never the call.
class PendingCall final : public grpc::ServerUnaryReactor {
 public:
  // The right to answer, once. Thread-safe.
  class Ticket {
   public:
    // `fill` writes the response and returns the call's status; it is not called when the call has
    // ended before, since the response is gone then.
    void Finish(const std::function<grpc::Status()>& fill) {
      MutexLock lock(mutex_);
      if (call_ == nullptr) return;
      PendingCall* call = call_;
      call_ = nullptr;
      call->Finish(fill());
    }

   private:
    friend class PendingCall;
    Mutex mutex_;
    // Null once Finish was called on it; it deletes itself after that.
    PendingCall* call_ ABSL_GUARDED_BY(mutex_) = nullptr;
  };

  // The call belongs to gRPC and deletes itself when it is over.
  PendingCall() : ticket_(std::make_shared<Ticket>()) {
    MutexLock lock(ticket_->mutex_);
    ticket_->call_ = this;
  }
  std::shared_ptr<Ticket> ticket() const { return ticket_; }

 private:
  void OnCancel() override {
    // A copy, since Finish may end with this object gone.
    const std::shared_ptr<Ticket> ticket = ticket_;
    ticket->Finish([] { return grpc::Status::CANCELLED; });
  }
  void OnDone() override { delete this; }

  const std::shared_ptr<Ticket> ticket_;
};

}  // namespace cohost::supervisor
