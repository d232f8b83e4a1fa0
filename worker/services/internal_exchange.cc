// SPDX-License-Identifier: Apache-2.0
#include "worker/services/internal_exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "boost/asio/post.hpp"
#include "worker/http/http_text.h"
#include "worker/sdk/cohost.h"

namespace cohost::worker {
namespace {

std::vector<HeaderView> Views(const std::vector<std::pair<std::string, std::string>>& headers) {
  std::vector<HeaderView> views;
  views.reserve(headers.size());
  for (const auto& [name, value] : headers) views.push_back({name, value});
  return views;
}

}  // namespace

InternalExchange::InternalExchange(boost::asio::io_context& io, const Clock& clock,
                                   native::OutgoingCall call,
                                   std::function<void(native::CallResult)> ended)
    : io_(io),
      clock_(clock),
      call_(std::move(call)),
      headers_(Views(call_.headers)),
      deadline_(call_.deadline),
      timer_(io),
      ended_(std::move(ended)) {}

void InternalExchange::Begin(ServiceEntry& entry) {
  entry_ = &entry;
  Add(entry.counters().started, 1);
  deadline_ = std::min(deadline_, call_.start + entry.limits().request_timeout);
  timer_.Start(deadline_ - clock_.Steady(),
               [self = Self()] { self->Fail(COHOST_TIMEOUT, CancelReason::kRequestTimeout); });
  entry.admission().Submit(Self());
}

void InternalExchange::Fail(int32_t status, CancelReason reason) {
  {
    const MutexLock lock(mutex_);
    // Its answer is on the way to the loop.
    if (complete_) return;
    complete_ = true;
    result_ = {};
    result_.status = status;
  }
  if (reason == CancelReason::kRequestTimeout) CountLimit(LimitHit::kRequestTimeout);
  End(&reason);
}

void InternalExchange::Cancel() {
  boost::asio::post(io_,
                    [self = Self()] { self->Fail(COHOST_CANCELLED, CancelReason::kClientGone); });
}

void InternalExchange::OnRefused() {
  {
    const MutexLock lock(mutex_);
    complete_ = true;
    // As a client over HTTP would get it.
    result_.http_status = 503;
  }
  CountLimit(LimitHit::kQueueFull);
  // From the loop: this is called inside Begin.
  boost::asio::post(io_, [self = Self()] { self->End(nullptr); });
}

ExchangeResult InternalExchange::ReadBody(char* buffer, size_t size, size_t* read) {
  const MutexLock lock(mutex_);
  if (complete_) return ExchangeResult::kGone;
  if (read_ == call_.body.size()) return ExchangeResult::kEnd;
  *read = std::min(size, call_.body.size() - read_);
  std::memcpy(buffer, call_.body.data() + read_, *read);
  read_ += *read;
  return ExchangeResult::kOk;
}

void InternalExchange::OnReadable(std::function<void()> ready) {
  boost::asio::post(io_, std::move(ready));
}

void InternalExchange::OnWritable(std::function<void()> ready) {
  boost::asio::post(io_, std::move(ready));
}

ExchangeResult InternalExchange::TakeHead(uint32_t status, std::span<const HeaderView> headers) {
  if (complete_) return ExchangeResult::kGone;
  if (head_taken_ || status < 200 || status > 599) return ExchangeResult::kInvalid;
  const auto is_allowed = [](const HeaderView& header) {
    return IsToken(header.name) && IsFieldValue(header.value) && !IsHostField(header.name);
  };
  if (!std::all_of(headers.begin(), headers.end(), is_allowed)) return ExchangeResult::kInvalid;
  head_taken_ = true;
  result_.http_status = status;
  for (const HeaderView& header : headers) {
    result_.headers.emplace_back(header.name, header.value);
  }
  return ExchangeResult::kOk;
}

ExchangeResult InternalExchange::TakeBody(std::string_view part) {
  if (complete_) return ExchangeResult::kGone;
  if (!head_taken_) return ExchangeResult::kInvalid;
  if (announced_.has_value() && part.size() > *announced_ - taken_) return ExchangeResult::kInvalid;
  taken_ += part.size();
  if (call_.method == "HEAD") return ExchangeResult::kOk;
  if (part.size() > call_.max_answer_size - result_.body.size()) {
    result_ = {};
    Complete(COHOST_LIMIT);
    return ExchangeResult::kGone;
  }
  result_.body.append(part);
  return ExchangeResult::kOk;
}

ExchangeResult InternalExchange::Respond(uint32_t status, std::span<const HeaderView> headers,
                                         std::string_view body) {
  const MutexLock lock(mutex_);
  ExchangeResult result = TakeHead(status, headers);
  if (result == ExchangeResult::kOk) result = TakeBody(body);
  if (result == ExchangeResult::kOk) Complete(COHOST_OK);
  return result;
}

ExchangeResult InternalExchange::SendHead(uint32_t status, std::span<const HeaderView> headers,
                                          std::optional<uint64_t> content_length) {
  const MutexLock lock(mutex_);
  const ExchangeResult result = TakeHead(status, headers);
  if (result == ExchangeResult::kOk) announced_ = content_length;
  return result;
}

ExchangeResult InternalExchange::WriteBody(std::string_view part) {
  const MutexLock lock(mutex_);
  return TakeBody(part);
}

ExchangeResult InternalExchange::Finish(std::span<const HeaderView>) {
  const MutexLock lock(mutex_);
  if (complete_) return ExchangeResult::kGone;
  if (!head_taken_) return ExchangeResult::kInvalid;
  // Less than was announced is not an answer; over HTTP the connection would be cut.
  const bool whole = !announced_.has_value() || *announced_ == taken_;
  if (!whole) result_ = {};
  Complete(whole ? COHOST_OK : COHOST_UNAVAILABLE);
  return ExchangeResult::kOk;
}

void InternalExchange::Abort() {
  const MutexLock lock(mutex_);
  if (complete_) return;
  result_ = {};
  Complete(COHOST_UNAVAILABLE);
}

void InternalExchange::Complete(int32_t status) {
  complete_ = true;
  result_.status = status;
  boost::asio::post(io_, [self = Self()] { self->End(nullptr); });
}

void InternalExchange::End(const CancelReason* cancelled) {
  auto ended = std::exchange(ended_, nullptr);
  if (ended == nullptr) return;
  timer_.Cancel();
  native::CallResult result;
  {
    const MutexLock lock(mutex_);
    result = std::move(result_);
  }
  if (entry_ != nullptr) {
    Count(result);
    entry_->admission().End(*this, cancelled);
  }
  ended(std::move(result));
}

void InternalExchange::CountLimit(LimitHit hit) {
  if (entry_ != nullptr) Add(entry_->counters().limit_hits[static_cast<size_t>(hit)], 1);
}

void InternalExchange::Count(const native::CallResult& result) {
  ServiceCounters& counters = entry_->counters();
  Add(counters.finished, 1);
  Add(counters.answered[std::min(result.http_status / 100, 5U)], 1);
  const absl::Duration latency = clock_.Steady() - call_.start;
  Add(counters.latency_sum_ns, static_cast<uint64_t>(absl::ToInt64Nanoseconds(latency)));
  Add(counters.latency[LatencyBucket(latency)], 1);
}

std::shared_ptr<InternalExchange> InternalExchange::Self() {
  return std::static_pointer_cast<InternalExchange>(shared_from_this());
}

}  // namespace cohost::worker
