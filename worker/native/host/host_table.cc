// SPDX-License-Identifier: Apache-2.0
#include "worker/native/host/host_table.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "worker/native/host/host_requests.h"
#include "worker/native/host/request_table.h"
#include "worker/native/host/service_host.h"

namespace cohost::worker::native {
namespace {

constexpr size_t kLongestThreadName = 15;
constexpr absl::Duration kDefaultCallTimeout = absl::Seconds(30);
constexpr uint64_t kDefaultAnswerSize = 1 << 20;
constexpr size_t kMostCallHeaders = 128;

bool IsString(const cohost_string& string) { return string.data != nullptr || string.size == 0; }

std::string_view View(const cohost_string& string) { return {string.data, string.size}; }

cohost_string ToC(std::string_view text) { return {text.data(), text.size()}; }

const void* GetExtension(const char*) { return nullptr; }

cohost_status ServiceInfo(cohost_service* service, cohost_service_info* info) {
  if (service == nullptr || info == nullptr || info->size < sizeof(info->size)) {
    return COHOST_INVALID;
  }
  ServiceHost& host = *ServiceHost::Of(service);
  cohost_service_info full = {};
  full.size = std::min(info->size, sizeof(full));
  full.name = ToC(host.description().name);
  full.data_folder = ToC(host.description().data_folder);
  full.generation = host.parts().lent.generation;
  full.setting_count = static_cast<uint32_t>(host.description().settings.size());
  std::memcpy(info, &full, full.size);
  return COHOST_OK;
}

cohost_status Setting(cohost_service* service, cohost_string key, cohost_string* value) {
  if (service == nullptr || value == nullptr || !IsString(key)) return COHOST_INVALID;
  const std::optional<std::string_view> found = ServiceHost::Of(service)->Setting(View(key));
  if (!found) return COHOST_NOT_FOUND;
  *value = ToC(*found);
  return COHOST_OK;
}

cohost_status SettingAt(cohost_service* service, uint32_t index, cohost_string* key,
                        cohost_string* value) {
  if (service == nullptr || key == nullptr || value == nullptr) return COHOST_INVALID;
  const auto& settings = ServiceHost::Of(service)->description().settings;
  if (index >= settings.size()) return COHOST_END;
  *key = ToC(settings[index].first);
  *value = ToC(settings[index].second);
  return COHOST_OK;
}

cohost_status DataImage(cohost_service* service, cohost_string name, const void** base,
                        size_t* size) {
  if (service == nullptr || base == nullptr || size == nullptr || !IsString(name)) {
    return COHOST_INVALID;
  }
  ServiceHost& host = *ServiceHost::Of(service);
  const absl::StatusOr<std::string_view> image = host.Image(View(name));
  if (!image.ok()) {
    if (image.status().code() == absl::StatusCode::kNotFound) return COHOST_NOT_FOUND;
    host.Log(COHOST_LOG_ERROR, std::string(image.status().message()));
    return COHOST_UNAVAILABLE;
  }
  *base = image->data();
  *size = image->size();
  return COHOST_OK;
}

void WriteLog(cohost_service* service, cohost_log_level level, cohost_string message) {
  if (service == nullptr || !IsString(message)) return;
  ServiceHost::Of(service)->Log(level, View(message));
}

void StartProgress(cohost_service* service, cohost_string message) {
  if (service == nullptr || !IsString(message)) return;
  ServiceHost& host = *ServiceHost::Of(service);
  host.NoteProgress();
  if (message.size > 0) host.Log(COHOST_LOG_INFO, View(message));
}

void Report(cohost_service* service, ServiceHost::Report report, const absl::Status& status,
            std::string_view function) {
  if (service == nullptr) return;
  ServiceHost& host = *ServiceHost::Of(service);
  if (host.Tell(report, status)) return;
  host.Log(COHOST_LOG_WARNING, std::string(function) + " was called when it was not expected");
}

void StartDone(cohost_service* service, cohost_status status, cohost_string message) {
  absl::Status outcome;
  if (status != COHOST_OK) {
    const std::string text = IsString(message) && message.size > 0 ? std::string(View(message))
                                                                   : "the module did not start";
    outcome = absl::FailedPreconditionError(text);
  }
  Report(service, ServiceHost::Report::kStarted, outcome, "start_done");
}

void DrainDone(cohost_service* service) {
  Report(service, ServiceHost::Report::kDrained, absl::OkStatus(), "drain_done");
}

void StopDone(cohost_service* service) {
  Report(service, ServiceHost::Report::kStopped, absl::OkStatus(), "stop_done");
}

uint64_t ThreadEnter(cohost_service* service) {
  if (service == nullptr) return 0;
  ServiceHost& host = *ServiceHost::Of(service);
  return EnterService(host.parts().slots(), host.description().row,
                      host.parts().lent.clock.Steady());
}

void ThreadLeave(uint64_t entered) { LeaveService(entered); }

cohost_status SpawnThread(cohost_service* service, cohost_string name, void (*entry)(void* data),
                          void* data, cohost_thread* thread) {
  if (service == nullptr || entry == nullptr || !IsString(name)) return COHOST_INVALID;
  const std::string text(View(name).substr(0, kLongestThreadName));
  return ServiceHost::Of(service)->threads().Spawn(text, entry, data, thread);
}

cohost_status JoinThread(cohost_service* service, cohost_thread thread) {
  if (service == nullptr) return COHOST_INVALID;
  return ServiceHost::Of(service)->threads().Join(thread);
}

cohost_status Post(cohost_service* service, cohost_event_callback callback, void* data) {
  if (service == nullptr || callback == nullptr) return COHOST_INVALID;
  return ServiceHost::Of(service)->PostTask({callback, data});
}

cohost_status TimerAdd(cohost_service* service, int64_t delay, int64_t period, uint32_t flags,
                       cohost_event_callback callback, void* data, cohost_timer* timer) {
  constexpr int64_t kShortestPeriod = 1'000'000;
  const bool period_is_good = period == 0 || period >= kShortestPeriod;
  if (service == nullptr || callback == nullptr || delay < 0 || !period_is_good) {
    return COHOST_INVALID;
  }
  const TimerCall call{callback, data, (flags & COHOST_TIMER_INLINE) != 0};
  return ServiceHost::Of(service)->AddTimer(absl::Nanoseconds(delay), absl::Nanoseconds(period),
                                            call, timer);
}

cohost_status TimerCancel(cohost_service* service, cohost_timer timer) {
  return service == nullptr ? COHOST_INVALID : ServiceHost::Of(service)->CancelTimer(timer);
}

void* Alloc(cohost_service* service, size_t size, size_t alignment) {
  if (service == nullptr) return nullptr;
  return ServiceHost::Of(service)->memory().Allocate(size, alignment);
}

void Free(cohost_service* service, void* memory) {
  if (service != nullptr) ServiceHost::Of(service)->memory().Free(memory);
}

cohost_status Metric(cohost_service* service, cohost_string name, cohost_metric_kind kind,
                     cohost_metric* metric) {
  if (service == nullptr || metric == nullptr || !IsString(name)) return COHOST_INVALID;
  return ServiceHost::Of(service)->metrics().Register(View(name), kind, metric);
}

cohost_status MetricAdd(cohost_service* service, cohost_metric metric, double amount) {
  if (service == nullptr) return COHOST_INVALID;
  return ServiceHost::Of(service)->metrics().Add(metric, amount);
}

cohost_status MetricSet(cohost_service* service, cohost_metric metric, double value) {
  if (service == nullptr) return COHOST_INVALID;
  return ServiceHost::Of(service)->metrics().Set(metric, value);
}

// Takes over what the request that a call is made for hands down. False when it has ended.
bool InheritFrom(cohost_request parent, OutgoingCall& call) {
  const RequestTable::Found found = RequestTable::Process().Find(parent);
  if (!found || found.cancelled) return false;
  const SteadyTime deadline = found.exchange->deadline();
  if (deadline.nanoseconds != 0) call.deadline = std::min(call.deadline, deadline);
  const auto given = [&](std::string_view name) {
    return std::any_of(call.headers.begin(), call.headers.end(), [&](const auto& header) {
      return cohost_same_name(ToC(header.first), ToC(name)) != 0;
    });
  };
  if (given("traceparent")) return true;
  std::string_view traceparent;
  std::string_view tracestate;
  for (const HeaderView& header : found.exchange->headers()) {
    if (cohost_same_name(ToC(header.name), cohost_text("traceparent"))) traceparent = header.value;
    if (cohost_same_name(ToC(header.name), cohost_text("tracestate"))) tracestate = header.value;
  }
  if (!IsTraceparent(traceparent)) return true;
  call.headers.emplace_back("traceparent", traceparent);
  if (!tracestate.empty()) call.headers.emplace_back("tracestate", tracestate);
  return true;
}

// The whole structure, whatever part of it the module knows. Nothing when it is not a call.
std::optional<cohost_call_request> CompleteRequest(const cohost_call_request* request) {
  if (request == nullptr || !COHOST_HAS(request, target)) return std::nullopt;
  cohost_call_request full = {};
  std::memcpy(&full, request, std::min(request->size, sizeof(full)));
  const bool headers_are_good =
      full.header_count <= kMostCallHeaders && (full.headers != nullptr || full.header_count == 0);
  if (!IsString(full.service) || !IsString(full.method) || !IsString(full.target) ||
      !IsString(full.body) || !headers_are_good || full.target.size == 0) {
    return std::nullopt;
  }
  for (size_t i = 0; i < full.header_count; ++i) {
    if (!IsString(full.headers[i].name) || !IsString(full.headers[i].value)) return std::nullopt;
  }
  return full;
}

cohost_status Call(cohost_service* service, const cohost_call_request* request,
                   cohost_call_callback callback, void* data, cohost_call* number) {
  const std::optional<cohost_call_request> full = CompleteRequest(request);
  if (service == nullptr || callback == nullptr || !full) return COHOST_INVALID;
  ServiceHost& host = *ServiceHost::Of(service);
  OutgoingCall call;
  call.service = View(full->service);
  call.method = full->method.size == 0 ? "GET" : View(full->method);
  call.target = View(full->target);
  for (size_t i = 0; i < full->header_count; ++i) {
    call.headers.emplace_back(View(full->headers[i].name), View(full->headers[i].value));
  }
  call.body = View(full->body);
  call.start = host.parts().lent.clock.Steady();
  call.deadline = {full->deadline};
  if (full->deadline <= 0) {
    call.deadline = full->parent == 0 ? call.start + kDefaultCallTimeout
                                      : SteadyTime{std::numeric_limits<int64_t>::max()};
  }
  call.max_answer_size = full->max_answer_size == 0 ? kDefaultAnswerSize : full->max_answer_size;
  if (full->parent != 0 && !InheritFrom(full->parent, call)) return COHOST_GONE;
  return host.StartCall(std::move(call), callback, data, number);
}

cohost_status CallCancel(cohost_service* service, cohost_call call) {
  if (service == nullptr) return COHOST_INVALID;
  return ServiceHost::Of(service)->CancelCall(call) ? COHOST_OK : COHOST_GONE;
}

cohost_host MakeTable() {
  cohost_host host = {};
  host.major = COHOST_ABI_MAJOR;
  host.size = sizeof(host);
  host.get_extension = GetExtension;
  host.service_info = ServiceInfo;
  host.setting = Setting;
  host.setting_at = SettingAt;
  host.data_image = DataImage;
  host.log = WriteLog;
  host.start_progress = StartProgress;
  host.start_done = StartDone;
  host.drain_done = DrainDone;
  host.stop_done = StopDone;
  FillRequestFunctions(host);
  host.thread_enter = ThreadEnter;
  host.thread_leave = ThreadLeave;
  host.spawn_thread = SpawnThread;
  host.join_thread = JoinThread;
  host.post = Post;
  host.timer_add = TimerAdd;
  host.timer_cancel = TimerCancel;
  host.alloc = Alloc;
  host.free = Free;
  host.metric = Metric;
  host.metric_add = MetricAdd;
  host.metric_set = MetricSet;
  host.call = Call;
  host.call_cancel = CallCancel;
  return host;
}

}  // namespace

const cohost_host& HostTable() {
  static const cohost_host table = MakeTable();
  return table;
}

}  // namespace cohost::worker::native
