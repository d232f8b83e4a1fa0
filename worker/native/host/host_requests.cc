// SPDX-License-Identifier: Apache-2.0
#include "worker/native/host/host_requests.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "absl/container/inlined_vector.h"
#include "base/mutex.h"
#include "worker/native/host/request_table.h"
#include "worker/native/host/service_host.h"
#include "worker/native/loader/module_threads.h"
#include "worker/services/exchange.h"

namespace cohost::worker::native {
namespace {

// More than any head that a client would take.
constexpr size_t kMostHeaders = 1024;
// How long after its deadline an exchange may take to say that it has ended.
constexpr absl::Duration kCancelSlack = absl::Seconds(1);

using HeaderList = absl::InlinedVector<HeaderView, 16>;

RequestTable& Table() { return RequestTable::Process(); }

cohost_status ToStatus(ExchangeResult result) {
  switch (result) {
    case ExchangeResult::kOk:
      return COHOST_OK;
    case ExchangeResult::kWouldBlock:
      return COHOST_WOULD_BLOCK;
    case ExchangeResult::kEnd:
      return COHOST_END;
    case ExchangeResult::kGone:
      return COHOST_GONE;
    case ExchangeResult::kInvalid:
      return COHOST_INVALID;
  }
  return COHOST_FAILED;
}

bool IsString(const cohost_string& string) { return string.data != nullptr || string.size == 0; }

std::string_view View(const cohost_string& string) { return {string.data, string.size}; }

// Nothing when they cannot be headers.
std::optional<HeaderList> ToList(const cohost_header* headers, size_t count) {
  if (count > kMostHeaders || (headers == nullptr && count > 0)) return std::nullopt;
  HeaderList list;
  for (size_t i = 0; i < count; ++i) {
    if (!IsString(headers[i].name) || !IsString(headers[i].value)) return std::nullopt;
    list.push_back({View(headers[i].name), View(headers[i].value)});
  }
  return list;
}

// What ended the request for the module takes it out of the table.
cohost_status Ended(cohost_request request, ExchangeResult result) {
  if (result == ExchangeResult::kOk || result == ExchangeResult::kGone) {
    (void)Table().Remove(request);
  }
  return ToStatus(result);
}

std::string_view ValueOf(const std::vector<cohost_header>& headers, const char* name) {
  const cohost_header* found = cohost_find_header(headers.data(), headers.size(), name);
  return found == nullptr ? std::string_view() : View(found->value);
}

cohost_string ToC(std::string_view text) { return {text.data(), text.size()}; }

cohost_status RequestInfo(cohost_request request, cohost_request_info* info) {
  if (info == nullptr || info->size < sizeof(info->size)) return COHOST_INVALID;
  const RequestTable::Found found = Table().Find(request);
  const std::vector<cohost_header>* headers = Table().Headers(request);
  if (!found || headers == nullptr) return COHOST_GONE;
  const Exchange& exchange = *found.exchange;
  cohost_request_info full = {};
  full.size = std::min(info->size, sizeof(full));
  full.method = ToC(exchange.method());
  full.target = ToC(exchange.target());
  full.peer = ToC(exchange.peer());
  full.headers = headers->data();
  full.header_count = headers->size();
  full.content_length = exchange.content_length().value_or(COHOST_UNKNOWN_LENGTH);
  full.start = exchange.start().nanoseconds;
  const int64_t deadline = exchange.deadline().nanoseconds;
  full.deadline = deadline == 0 ? std::numeric_limits<int64_t>::max() : deadline;
  const std::string_view traceparent = ValueOf(*headers, "traceparent");
  if (IsTraceparent(traceparent)) {
    full.traceparent = ToC(traceparent);
    full.tracestate = ToC(ValueOf(*headers, "tracestate"));
  }
  std::memcpy(info, &full, full.size);
  return COHOST_OK;
}

cohost_status SetRequestData(cohost_request request, void* data) {
  return Table().SetData(request, data) ? COHOST_OK : COHOST_GONE;
}

void* RequestData(cohost_request request) { return Table().Data(request); }

cohost_status ReadBody(cohost_request request, void* buffer, size_t size, size_t* read) {
  if (buffer == nullptr || size == 0 || read == nullptr) return COHOST_INVALID;
  const RequestTable::Found found = Table().Find(request);
  if (!found || found.cancelled) return COHOST_GONE;
  return ToStatus(found.exchange->ReadBody(static_cast<char*>(buffer), size, read));
}

cohost_status Trailers(cohost_request request, const cohost_header** trailers, size_t* count) {
  if (trailers == nullptr || count == nullptr) return COHOST_INVALID;
  const std::vector<cohost_header>* list = Table().Trailers(request);
  if (list == nullptr) return COHOST_GONE;
  *trailers = list->data();
  *count = list->size();
  return COHOST_OK;
}

// The function that an exchange is to call on the I/O thread when it can go on.
std::function<void()> Resume(cohost_request request, ServiceHost& service,
                             cohost_request_callback callback, void* data) {
  return [request, service = service.shared_from_this(), callback, data] {
    service->DispatchServiceCode(
        [request, callback, data] {
          const RequestTable::Found found = Table().Find(request);
          if (found && !found.cancelled) callback(data, request);
        },
        /*on_io_thread=*/true);
  };
}

cohost_status OnReadable(cohost_request request, cohost_request_callback callback, void* data) {
  if (callback == nullptr) return COHOST_INVALID;
  const RequestTable::Found found = Table().Find(request);
  if (!found || found.cancelled) return COHOST_GONE;
  found.exchange->OnReadable(Resume(request, *found.service, callback, data));
  return COHOST_OK;
}

cohost_status OnWritable(cohost_request request, cohost_request_callback callback, void* data) {
  if (callback == nullptr) return COHOST_INVALID;
  const RequestTable::Found found = Table().Find(request);
  if (!found || found.cancelled) return COHOST_GONE;
  found.exchange->OnWritable(Resume(request, *found.service, callback, data));
  return COHOST_OK;
}

// A thread of service code that waits for an exchange.
struct Waiter {
  Mutex mutex;
  CondVar changed;
  bool ready ABSL_GUARDED_BY(mutex) = false;

  void Signal() {
    MutexLock lock(mutex);
    ready = true;
    changed.NotifyAll();
  }
  bool WaitUntil(SteadyTime end) {
    const std::chrono::steady_clock::time_point limit{std::chrono::nanoseconds(end.nanoseconds)};
    MutexLock lock(mutex);
    while (!ready) {
      if (!changed.WaitUntil(mutex, limit)) return ready;
    }
    return true;
  }
};

cohost_status Wait(cohost_request request, void (Exchange::*notify)(std::function<void()>)) {
  if (CurrentPlace() != ThreadPlace::kOther) return COHOST_INVALID;
  const RequestTable::Found found = Table().Find(request);
  if (!found || found.cancelled) return COHOST_GONE;
  const auto waiter = std::make_shared<Waiter>();
  (found.exchange.get()->*notify)([waiter] { waiter->Signal(); });
  const SteadyTime deadline = found.exchange->deadline();
  const SteadyTime end =
      deadline.nanoseconds == 0 ? found.exchange->start() + absl::Hours(24) : deadline;
  if (!waiter->WaitUntil(end + kCancelSlack)) return COHOST_GONE;
  const RequestTable::Found after = Table().Find(request);
  return after && !after.cancelled ? COHOST_OK : COHOST_GONE;
}

cohost_status WaitReadable(cohost_request request) { return Wait(request, &Exchange::OnReadable); }

cohost_status WaitWritable(cohost_request request) { return Wait(request, &Exchange::OnWritable); }

// The request for one of the functions that answer; a cancelled one is let go.
RequestTable::Found FindToAnswer(cohost_request request) {
  RequestTable::Found found = Table().Find(request);
  if (!found || !found.cancelled) return found;
  (void)Table().Remove(request);
  return {};
}

cohost_status Respond(cohost_request request, uint32_t status, const cohost_header* headers,
                      size_t header_count, cohost_string body) {
  const std::optional<HeaderList> list = ToList(headers, header_count);
  if (!list || !IsString(body)) return COHOST_INVALID;
  const RequestTable::Found found = FindToAnswer(request);
  if (!found) return COHOST_GONE;
  return Ended(request, found.exchange->Respond(status, *list, View(body)));
}

cohost_status SendHead(cohost_request request, uint32_t status, const cohost_header* headers,
                       size_t header_count, uint64_t content_length) {
  const std::optional<HeaderList> list = ToList(headers, header_count);
  if (!list) return COHOST_INVALID;
  const RequestTable::Found found = Table().Find(request);
  if (!found || found.cancelled) return COHOST_GONE;
  std::optional<uint64_t> length;
  if (content_length != COHOST_UNKNOWN_LENGTH) length = content_length;
  return ToStatus(found.exchange->SendHead(status, *list, length));
}

cohost_status WriteBody(cohost_request request, cohost_string part) {
  if (!IsString(part)) return COHOST_INVALID;
  const RequestTable::Found found = Table().Find(request);
  if (!found || found.cancelled) return COHOST_GONE;
  return ToStatus(found.exchange->WriteBody(View(part)));
}

cohost_status Finish(cohost_request request, const cohost_header* trailers, size_t count) {
  const std::optional<HeaderList> list = ToList(trailers, count);
  if (!list) return COHOST_INVALID;
  const RequestTable::Found found = FindToAnswer(request);
  if (!found) return COHOST_GONE;
  return Ended(request, found.exchange->Finish(*list));
}

cohost_status Abort(cohost_request request) {
  const RequestTable::Found found = Table().Remove(request);
  if (!found) return COHOST_GONE;
  if (!found.cancelled) found.exchange->Abort();
  return COHOST_OK;
}

}  // namespace

void FillRequestFunctions(cohost_host& host) {
  host.request_info = RequestInfo;
  host.set_request_data = SetRequestData;
  host.request_data = RequestData;
  host.read_body = ReadBody;
  host.trailers = Trailers;
  host.on_readable = OnReadable;
  host.wait_readable = WaitReadable;
  host.respond = Respond;
  host.send_head = SendHead;
  host.write_body = WriteBody;
  host.on_writable = OnWritable;
  host.wait_writable = WaitWritable;
  host.finish = Finish;
  host.abort = Abort;
}

bool IsTraceparent(std::string_view value) {
  // "00-<32 hex>-<16 hex>-<2 hex>", lower case; a later version may append fields.
  constexpr size_t kLength = 55;
  if (value.size() < kLength || value[2] != '-' || value[35] != '-' || value[52] != '-') {
    return false;
  }
  const auto is_hex = [](std::string_view digits) {
    return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  };
  const auto is_zero = [](std::string_view digits) {
    return digits.find_first_not_of('0') == std::string_view::npos;
  };
  const std::string_view version = value.substr(0, 2);
  const std::string_view trace = value.substr(3, 32);
  const std::string_view parent = value.substr(36, 16);
  if (!is_hex(version) || !is_hex(trace) || !is_hex(parent) || !is_hex(value.substr(53, 2))) {
    return false;
  }
  if (version == "ff" || is_zero(trace) || is_zero(parent)) return false;
  return value.size() == kLength || (version != "00" && value[kLength] == '-');
}

}  // namespace cohost::worker::native
