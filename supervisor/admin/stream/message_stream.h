// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "grpcpp/support/server_callback.h"

namespace cohost::supervisor {

// The supervisor's end of one server-streaming call: a bounded queue that gRPC empties at the
// client's pace. Whoever produces messages never waits and never touches gRPC's call, which may end
// at any moment. Thread-safe; shared by the producer and the call.
template <typename Message>
class MessageStream : public std::enable_shared_from_this<MessageStream<Message>> {
 public:
  enum class Pushed { kTaken, kFull, kClosed };

  explicit MessageStream(size_t limit) : limit_(limit) {}

  // The call that gRPC runs; it deletes itself. Called once.
  grpc::ServerWriteReactor<Message>* Open() {
    auto* call = new Call(this->shared_from_this());
    // So that a client knows that it is served, also before the first message.
    call->StartSendInitialMetadata();
    MutexLock lock(mutex_);
    call_ = call;
    return call;
  }

  // `on_room` is called (from any thread) whenever the queue has become empty, `on_closed` once
  // when the call is over. Set before Open.
  void OnRoom(std::function<void()> on_room) { on_room_ = std::move(on_room); }
  void OnClosed(std::function<void()> on_closed) { on_closed_ = std::move(on_closed); }

  Pushed Push(Message message) {
    {
      MutexLock lock(mutex_);
      if (call_ == nullptr || end_) return Pushed::kClosed;
      if (queue_.size() >= limit_) return Pushed::kFull;
      queue_.push_back(std::move(message));
    }
    Advance();
    return Pushed::kTaken;
  }

  // Free places in the queue; 0 when the stream is closed.
  size_t room() const {
    MutexLock lock(mutex_);
    return call_ == nullptr || end_ ? 0 : limit_ - queue_.size();
  }
  bool empty() const {
    MutexLock lock(mutex_);
    return queue_.empty();
  }
  bool closed() const {
    MutexLock lock(mutex_);
    return call_ == nullptr || end_.has_value();
  }

  // Ends the call with `status` after everything that was pushed.
  void Close(grpc::Status status) { End(std::move(status), /*drop_queue=*/false); }
  // The same without what still waits in the queue.
  void Cut(grpc::Status status) { End(std::move(status), /*drop_queue=*/true); }

 private:
  class Call final : public grpc::ServerWriteReactor<Message> {
   public:
    explicit Call(std::shared_ptr<MessageStream> stream) : stream_(std::move(stream)) {}

   private:
    void OnWriteDone(bool ok) override { stream_->Written(ok); }
    void OnCancel() override { stream_->Cut(grpc::Status::CANCELLED); }
    void OnDone() override {
      const std::shared_ptr<MessageStream> stream = std::move(stream_);
      delete this;
      // Moved out: what it holds may hold the stream.
      const std::function<void()> on_closed = std::exchange(stream->on_closed_, nullptr);
      if (on_closed) on_closed();
    }
    std::shared_ptr<MessageStream> stream_;
  };

  void End(grpc::Status status, bool drop_queue) {
    {
      MutexLock lock(mutex_);
      if (call_ == nullptr) return;
      if (!end_) end_ = std::move(status);
      if (drop_queue) queue_.clear();
    }
    Advance();
  }

  void Written(bool ok) {
    bool empty = false;
    {
      MutexLock lock(mutex_);
      writing_ = false;
      if (!ok) {
        // The client is gone or the call was cancelled: nothing more will be delivered.
        if (!end_) end_ = grpc::Status::CANCELLED;
        queue_.clear();
      }
      empty = queue_.empty() && !end_;
    }
    Advance();
    if (empty && on_room_) on_room_();
  }

  // Starts the next write, or finishes. gRPC is called without the lock: the call cannot go away
  // before its Finish, and only one thread gets to each.
  void Advance() {
    Call* call = nullptr;
    std::optional<grpc::Status> finish;
    {
      MutexLock lock(mutex_);
      if (call_ == nullptr || writing_) return;
      call = call_;
      if (!queue_.empty()) {
        current_ = std::move(queue_.front());
        queue_.pop_front();
        writing_ = true;
      } else if (end_) {
        finish = end_;
        call_ = nullptr;
      } else {
        return;
      }
    }
    if (finish) {
      call->Finish(*finish);
    } else {
      call->StartWrite(&current_);
    }
  }

  // Set before Open; on_closed_ is taken at the end.
  const size_t limit_;
  std::function<void()> on_room_;
  std::function<void()> on_closed_;

  mutable Mutex mutex_;
  // Null before Open and once Finish was called on it.
  Call* call_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::deque<Message> queue_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mutex_);
  // A write is under way; `current_` belongs to gRPC until it is done.
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  Message current_;
};

}  // namespace cohost::supervisor
