// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "worker/http/request_head.h"
#include "worker/http/response_head.h"
#include "worker/loop/loop_inbox.h"
#include "worker/services/admission.h"
#include "worker/services/exchange.h"
#include "worker/services/service_entry.h"

namespace cohost::worker {

// Bytes of a request body, or of an answer, that may wait for the other side.
inline constexpr size_t kExchangeWindow = 64 << 10;

// The connection that an exchange came on.
class ExchangeConnection {
 public:
  // I/O thread: the exchange has changed, look at it. May end the connection.
  virtual void OnExchange() = 0;

 protected:
  ~ExchangeConnection() = default;
};

// One request and its answer on an HTTP/1.1 connection. The methods of Exchange are thread-safe;
// the others are the connection's, on the I/O thread. Made by the ExchangePool, which uses it again
// when the last reference is gone.
class HttpExchange final : public AdmittedExchange {
 public:
  // What the connection has to know of the answer.
  struct State {
    bool head_made = false;    // an answer has begun
    bool complete = false;     // and is whole
    bool cut = false;          // it will never be whole: the connection must end
    bool close = false;        // the connection must not be used again
    bool until_close = false;  // only the connection's end ends the answer
    bool wants_body = false;   // there is room for more of the request's body
    bool waits_for_client = false;
    uint32_t status = 0;
  };

  // `inbox` and the thread slots behind it outlive every exchange.
  HttpExchange(LoopInbox& inbox, ThreadSlots& slots) : inbox_(inbox), slots_(slots) {}

  // Takes over and reads a request head; the result is ParseRequestHead's.
  uint32_t Open(std::string_view bytes, std::string_view peer, SteadyTime start);
  // Before Submit. `quiet`: changes are not told to the connection, which looks by itself.
  void Attach(ExchangeConnection* connection, ServiceEntry& entry, SteadyTime deadline);
  const RequestHead& head() const { return head_; }

  // Moves the bytes that are to be sent next into `output` when that is empty; otherwise takes note
  // that all but the first `sent` bytes of it are still to be sent.
  State Take(std::string& output, size_t sent);
  // Gives memory back to be used again.
  void ReturnOutput(std::string output);
  State state();
  // From now on changes are told to the connection.
  void EndQuiet();

  size_t BodyRoom();
  void AddBody(std::string_view part);
  void CompleteBody(const std::vector<std::pair<std::string, std::string>>* trailers);

  // Answers for the service; false when it has begun to answer itself. It gets kGone from here on.
  bool AnswerByHost(uint32_t status, bool close);
  // The service gets kGone from here on.
  void EndForService();
  // Calls OnReadable's and OnWritable's functions where it is time.
  void CallWaiting();
  // The connection is done with it.
  void Detach() { connection_ = nullptr; }
  // Prepares for the next request. Any thread, with no other reference.
  void Clear();

  // Exchange
  std::string_view method() const override { return head_.method; }
  std::string_view target() const override { return head_.target; }
  std::span<const HeaderView> headers() const override { return head_.headers; }
  std::string_view peer() const override { return peer_; }
  std::optional<uint64_t> content_length() const override { return head_.content_length; }
  SteadyTime start() const override { return start_; }
  SteadyTime deadline() const override { return deadline_; }
  ExchangeResult ReadBody(char* buffer, size_t size, size_t* read) override;
  std::span<const HeaderView> trailers() const override;
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
  void OnLoop() override;

 private:
  enum class Stage { kNoHead, kBody, kComplete };

  // AdmittedExchange
  void OnRefused() override;

  ExchangeResult CheckHead(uint32_t status, std::span<const HeaderView> headers) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartHead(uint32_t status, std::span<const HeaderView> headers, Framing framing)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Persistence DecidePersistence(bool close) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AnswerLocked(uint32_t status, bool close) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  State StateLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  size_t unread() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return input_.size() - input_read_;
  }
  // Tells the connection; after the lock has been let go.
  void Notify(bool quiet);

  // Set in the constructor, never changed.
  LoopInbox& inbox_;
  ThreadSlots& slots_;

  // Set by Open and Attach before others see the exchange; constant until Clear.
  std::string bytes_;
  RequestHead head_;
  std::string peer_;
  SteadyTime start_;
  SteadyTime deadline_;
  uint32_t row_ = kNoRow;

  // I/O thread only.
  ExchangeConnection* connection_ = nullptr;

  mutable Mutex mutex_;
  bool quiet_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // for the service; entry_ is not used any more
  ServiceEntry* entry_ ABSL_GUARDED_BY(mutex_) = nullptr;
  // The answer.
  Stage stage_ ABSL_GUARDED_BY(mutex_) = Stage::kNoHead;
  State answer_ ABSL_GUARDED_BY(mutex_);  // without wants_body and waits_for_client
  bool chunked_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<uint64_t> length_left_ ABSL_GUARDED_BY(mutex_);
  std::string output_ ABSL_GUARDED_BY(mutex_);
  size_t unsent_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writer_waits_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> on_writable_ ABSL_GUARDED_BY(mutex_);
  // The request's body.
  std::string input_ ABSL_GUARDED_BY(mutex_);
  size_t input_read_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t input_total_ ABSL_GUARDED_BY(mutex_) = 0;
  bool input_complete_ ABSL_GUARDED_BY(mutex_) = false;
  bool continue_owed_ ABSL_GUARDED_BY(mutex_) = false;  // the client waits for 100 Continue
  bool reader_waits_ ABSL_GUARDED_BY(mutex_) = false;
  bool trailers_shown_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::pair<std::string, std::string>> trailer_texts_ ABSL_GUARDED_BY(mutex_);
  std::vector<HeaderView> trailers_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> on_readable_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cohost::worker
