// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "worker/services/exchange.h"

namespace cohost::worker {

using HeaderPairs = std::vector<std::pair<std::string, std::string>>;

// A request that a test sends, and what came back.
struct FakeRequest {
  std::string method = "GET";
  std::string target = "/";
  HeaderPairs headers;
  std::string peer = "127.0.0.1:1234";
  // The whole body; unset: the test sends it in parts (SendBody), chunked.
  std::optional<std::string> body = "";
  absl::Duration timeout = absl::Seconds(30);
};
struct FakeAnswer {
  uint32_t status = 0;
  HeaderPairs headers;
  std::optional<uint64_t> content_length;
  std::string body;
  HeaderPairs trailers;
  bool complete = false;
  bool aborted = false;
};

// An exchange without a connection: it obeys the contract of worker/services/exchange.h, and the
// test is the client. Thread-safe. `post_to_io` runs what belongs on the I/O thread.
class FakeExchange final : public Exchange {
 public:
  using PostToIo = std::function<void(std::function<void()>)>;
  FakeExchange(FakeRequest request, PostToIo post_to_io);

  // The client's side.
  void SendBody(std::string_view part);
  void EndBody(HeaderPairs trailers = {});
  // How many bytes of the answer may wait until WriteBody would block; at first without limit.
  void LimitWaitingBytes(size_t bytes);
  // Reads what waits.
  std::string TakeBody();
  // The client is gone, or the host gives up: nothing is done any more.
  void Cancel();
  // Whether the service ended its answer (complete or aborted) within `limit`.
  bool WaitForEnd(absl::Duration limit = absl::Seconds(20));
  FakeAnswer answer();

  // Exchange
  std::string_view method() const override { return request_.method; }
  std::string_view target() const override { return request_.target; }
  std::span<const HeaderView> headers() const override { return headers_; }
  std::string_view peer() const override { return request_.peer; }
  std::optional<uint64_t> content_length() const override;
  SteadyTime start() const override { return start_; }
  SteadyTime deadline() const override { return start_ + request_.timeout; }
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

 private:
  bool gone() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool readable() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool writable() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls those who wait and need not any more.
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(bool aborted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Set in the constructor, never changed.
  const FakeRequest request_;
  const std::vector<HeaderView> headers_;
  const PostToIo post_to_io_;
  const SteadyTime start_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::string incoming_ ABSL_GUARDED_BY(mutex_);
  bool incoming_ended_ ABSL_GUARDED_BY(mutex_) = false;
  HeaderPairs incoming_trailers_ ABSL_GUARDED_BY(mutex_);
  std::vector<HeaderView> trailer_views_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> on_readable_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> on_writable_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_limit_ ABSL_GUARDED_BY(mutex_) = SIZE_MAX;
  size_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  bool head_sent_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  FakeAnswer answer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cohost::worker
