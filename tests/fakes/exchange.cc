// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/exchange.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "absl/strings/match.h"
#include "base/strings.h"

namespace cohost::worker {
namespace {

std::vector<HeaderView> Views(const HeaderPairs& pairs) {
  std::vector<HeaderView> views;
  for (const auto& [name, value] : pairs) views.push_back({name, value});
  return views;
}

HeaderPairs Pairs(std::span<const HeaderView> views) {
  HeaderPairs pairs;
  for (const HeaderView& view : views) pairs.emplace_back(view.name, view.value);
  return pairs;
}

bool AreAllowed(uint32_t status, std::span<const HeaderView> headers) {
  if (status < 200 || status > 599) return false;
  return std::none_of(headers.begin(), headers.end(), [](const HeaderView& header) {
    return header.name.empty() || absl::EqualsIgnoreCase(AsAbsl(header.name), "content-length") ||
           header.value.find_first_of("\r\n") != std::string_view::npos;
  });
}

}  // namespace

FakeExchange::FakeExchange(FakeRequest request, PostToIo post_to_io)
    : request_(std::move(request)),
      headers_(Views(request_.headers)),
      post_to_io_(std::move(post_to_io)),
      start_(SystemClock().Steady()),
      incoming_(request_.body.value_or("")),
      incoming_ended_(request_.body.has_value()) {}

void FakeExchange::SendBody(std::string_view part) {
  MutexLock lock(mutex_);
  incoming_ += part;
  Wake();
}

void FakeExchange::EndBody(HeaderPairs trailers) {
  MutexLock lock(mutex_);
  incoming_ended_ = true;
  incoming_trailers_ = std::move(trailers);
  trailer_views_ = Views(incoming_trailers_);
  Wake();
}

void FakeExchange::LimitWaitingBytes(size_t bytes) {
  MutexLock lock(mutex_);
  waiting_limit_ = bytes;
}

std::string FakeExchange::TakeBody() {
  MutexLock lock(mutex_);
  const std::string body = answer_.body.substr(taken_);
  taken_ = answer_.body.size();
  waiting_ = 0;
  Wake();
  return body;
}

void FakeExchange::Cancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
  Wake();
}

bool FakeExchange::WaitForEnd(absl::Duration limit) {
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(limit);
  MutexLock lock(mutex_);
  while (!answer_.complete && !answer_.aborted) {
    if (!changed_.WaitUntil(mutex_, end)) return answer_.complete || answer_.aborted;
  }
  return true;
}

FakeAnswer FakeExchange::answer() {
  MutexLock lock(mutex_);
  return answer_;
}

std::optional<uint64_t> FakeExchange::content_length() const {
  if (!request_.body) return std::nullopt;
  return request_.body->size();
}

ExchangeResult FakeExchange::ReadBody(char* buffer, size_t size, size_t* read) {
  MutexLock lock(mutex_);
  if (gone()) return ExchangeResult::kGone;
  if (incoming_.empty()) {
    return incoming_ended_ ? ExchangeResult::kEnd : ExchangeResult::kWouldBlock;
  }
  *read = std::min(size, incoming_.size());
  std::memcpy(buffer, incoming_.data(), *read);
  incoming_.erase(0, *read);
  return ExchangeResult::kOk;
}

std::span<const HeaderView> FakeExchange::trailers() const {
  MutexLock lock(mutex_);
  return trailer_views_;
}

void FakeExchange::OnReadable(std::function<void()> ready) {
  MutexLock lock(mutex_);
  on_readable_ = std::move(ready);
  Wake();
}

ExchangeResult FakeExchange::Respond(uint32_t status, std::span<const HeaderView> headers,
                                     std::string_view body) {
  MutexLock lock(mutex_);
  if (gone()) return ExchangeResult::kGone;
  if (head_sent_ || !AreAllowed(status, headers)) return ExchangeResult::kInvalid;
  answer_.status = status;
  answer_.headers = Pairs(headers);
  answer_.content_length = body.size();
  answer_.body = body;
  End(/*aborted=*/false);
  return ExchangeResult::kOk;
}

ExchangeResult FakeExchange::SendHead(uint32_t status, std::span<const HeaderView> headers,
                                      std::optional<uint64_t> content_length) {
  MutexLock lock(mutex_);
  if (gone()) return ExchangeResult::kGone;
  if (head_sent_ || !AreAllowed(status, headers)) return ExchangeResult::kInvalid;
  head_sent_ = true;
  answer_.status = status;
  answer_.headers = Pairs(headers);
  answer_.content_length = content_length;
  return ExchangeResult::kOk;
}

ExchangeResult FakeExchange::WriteBody(std::string_view part) {
  MutexLock lock(mutex_);
  if (gone()) return ExchangeResult::kGone;
  if (!head_sent_) return ExchangeResult::kInvalid;
  if (!writable()) return ExchangeResult::kWouldBlock;
  answer_.body += part;
  waiting_ += part.size();
  return ExchangeResult::kOk;
}

void FakeExchange::OnWritable(std::function<void()> ready) {
  MutexLock lock(mutex_);
  on_writable_ = std::move(ready);
  Wake();
}

ExchangeResult FakeExchange::Finish(std::span<const HeaderView> trailers) {
  MutexLock lock(mutex_);
  if (gone()) return ExchangeResult::kGone;
  const bool whole = !answer_.content_length || *answer_.content_length == answer_.body.size();
  if (!head_sent_ || !whole) return ExchangeResult::kInvalid;
  answer_.trailers = Pairs(trailers);
  End(/*aborted=*/false);
  return ExchangeResult::kOk;
}

void FakeExchange::Abort() {
  MutexLock lock(mutex_);
  if (gone()) return;
  if (!head_sent_) answer_.status = 500;
  End(/*aborted=*/true);
}

bool FakeExchange::gone() const { return cancelled_ || answer_.complete || answer_.aborted; }

bool FakeExchange::readable() const { return gone() || !incoming_.empty() || incoming_ended_; }

bool FakeExchange::writable() const { return gone() || waiting_ < waiting_limit_; }

void FakeExchange::Wake() {
  if (on_readable_ != nullptr && readable()) post_to_io_(std::exchange(on_readable_, nullptr));
  if (on_writable_ != nullptr && writable()) post_to_io_(std::exchange(on_writable_, nullptr));
}

void FakeExchange::End(bool aborted) {
  answer_.complete = !aborted;
  answer_.aborted = aborted;
  Wake();
  changed_.NotifyAll();
}

}  // namespace cohost::worker
