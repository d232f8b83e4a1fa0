// SPDX-License-Identifier: Apache-2.0
#include "worker/native/host/service_host.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "worker/native/host/request_table.h"

namespace cohost::worker::native {
namespace {

NativeServiceDescription WithSortedSettings(NativeServiceDescription description) {
  std::sort(description.settings.begin(), description.settings.end());
  return description;
}

cohost::LogLevel ToLogLevel(cohost_log_level level) {
  switch (level) {
    case COHOST_LOG_DEBUG:
      return LogLevel::kDebug;
    case COHOST_LOG_WARNING:
      return LogLevel::kWarning;
    case COHOST_LOG_ERROR:
      return LogLevel::kError;
    default:
      return LogLevel::kInfo;
  }
}

}  // namespace

ServiceHost::ServiceHost(RuntimeParts& parts, NativeServiceDescription description)
    : parts_(parts),
      description_(WithSortedSettings(std::move(description))),
      memory_(description_.memory_limit),
      threads_(parts.slots(), description_.row, parts.lent.clock),
      serial_(parts.lent.pool),
      last_progress_ns_(parts.lent.clock.Steady().nanoseconds) {}

absl::Status ServiceHost::Attach(Module& module) {
  COHOST_RETURN_IF_ERROR(module.AddService());
  module_ = &module;
  const cohost_status status = module.table().create(handle(), &instance_);
  attached_ = status == COHOST_OK;
  if (attached_) return absl::OkStatus();
  module.RemoveService();
  // It may have posted work before it failed.
  gate_.CloseAndWait();
  CancelTasksAndTimers();
  return absl::FailedPreconditionError(
      absl::StrCat(module.path(), ": create answered ", status, "; its log says why"));
}

void ServiceHost::Destroy() {
  if (!attached_) return;
  attached_ = false;
  calls_.CancelAll();
  calls_.WaitUntilNone();
  gate_.CloseAndWait();
  CancelTasksAndTimers();
  RequestTable::Process().RemoveAll(*this);
  if (const size_t running = threads_.Close(); running > 0) {
    Log(COHOST_LOG_ERROR, absl::StrCat(running, " threads of the module still run after stop"));
  }
  module_->table().destroy(instance_);
  module_->RemoveService();
}

void ServiceHost::Expect(Report report, ReportCallback callback) {
  MutexLock lock(reports_mutex_);
  reports_[static_cast<size_t>(report)] = std::move(callback);
}

bool ServiceHost::Tell(Report report, const absl::Status& status) {
  ReportCallback callback;
  {
    MutexLock lock(reports_mutex_);
    callback = std::exchange(reports_[static_cast<size_t>(report)], nullptr);
  }
  if (callback == nullptr) return false;
  callback(status);
  return true;
}

void ServiceHost::NoteProgress() {
  last_progress_ns_.store(parts_.lent.clock.Steady().nanoseconds, std::memory_order_relaxed);
}

std::optional<std::string_view> ServiceHost::Setting(std::string_view key) const {
  const auto& settings = description_.settings;
  const auto found = std::lower_bound(
      settings.begin(), settings.end(), key,
      [](const auto& setting, std::string_view wanted) { return setting.first < wanted; });
  if (found == settings.end() || found->first != key) return std::nullopt;
  return found->second;
}

absl::StatusOr<std::string_view> ServiceHost::Image(std::string_view name) {
  const auto found = description_.data_images.find(std::string(name));
  if (found == description_.data_images.end()) {
    return absl::NotFoundError(absl::StrCat("no data image named ", std::string(name)));
  }
  absl::StatusOr<std::string_view> image = parts_.images.Map(found->second);
  // NOT_FOUND is kept for a name that the deployment does not have.
  if (!image.ok()) return absl::UnavailableError(image.status().message());
  return image;
}

void ServiceHost::Log(cohost_log_level level, std::string_view message) {
  parts_.lent.log.Write(ToLogLevel(level), message, {{"service", description_.name}});
}

void ServiceHost::RunInModule(const std::function<void()>& work) {
  const GateScope inside(gate_);
  if (!inside) return;
  if (!module_->Has(COHOST_SERIAL)) return work();
  MutexLock lock(serial_mutex_);
  work();
}

void ServiceHost::DispatchServiceCode(std::function<void()> work, bool on_io_thread) {
  const GateScope inside(gate_);
  if (!inside) return;
  if (!module_->Has(COHOST_INLINE)) {
    // Not taken only when the worker ends.
    (void)PostToPool(std::move(work));
    return;
  }
  auto run = [self = shared_from_this(), work = std::move(work)] {
    const ScopedWork marked(self->parts_.slots(), self->description_.row,
                            self->parts_.lent.clock.Steady());
    const ScopedPlace place(ThreadPlace::kIo);
    self->RunInModule(work);
  };
  if (on_io_thread) return run();
  parts_.lent.post_to_io(std::move(run));
}

bool ServiceHost::PostToPool(std::function<void()> work) {
  auto run = [self = shared_from_this(), work = std::move(work)] {
    const ScopedWork marked(self->parts_.slots(), self->description_.row,
                            self->parts_.lent.clock.Steady());
    self->RunInModule(work);
  };
  if (module_->Has(COHOST_SERIAL)) return serial_.Post(std::move(run));
  return parts_.lent.pool.Post(std::move(run));
}

cohost_status ServiceHost::PostTask(const ModuleTask& task) {
  const GateScope inside(gate_);
  if (!inside) return COHOST_GONE;
  if (!tasks_.Add(task)) return COHOST_LIMIT;
  // A task that the pool does not take waits in the queue until it is cancelled.
  (void)PostToPool([this] {
    const std::optional<ModuleTask> next = tasks_.Take();
    if (next) next->callback(next->data, COHOST_EVENT_RUN);
  });
  return COHOST_OK;
}

cohost_status ServiceHost::AddTimer(absl::Duration delay, absl::Duration period,
                                    const TimerCall& call, cohost_timer* timer) {
  const GateScope inside(gate_);
  if (!inside) return COHOST_GONE;
  TimerCall placed = call;
  placed.on_timer_thread = call.on_timer_thread || module_->Has(COHOST_INLINE);
  const absl::StatusOr<uint64_t> added = parts_.timers->Add(*this, delay, period, placed);
  if (!added.ok()) return COHOST_LIMIT;
  if (timer != nullptr) *timer = *added;
  return COHOST_OK;
}

cohost_status ServiceHost::CancelTimer(cohost_timer timer) {
  switch (parts_.timers->Cancel(*this, timer)) {
    case Timers::CancelResult::kCancelled:
      return COHOST_OK;
    case Timers::CancelResult::kRunning:
      return COHOST_WOULD_BLOCK;
    case Timers::CancelResult::kGone:
      return COHOST_GONE;
  }
  return COHOST_GONE;
}

void ServiceHost::OnDue(std::span<const uint64_t> timers) {
  Timers& all = *parts_.timers;
  const ScopedWork marked(parts_.slots(), description_.row, parts_.lent.clock.Steady());
  const ScopedPlace place(ThreadPlace::kTimer);
  const GateScope inside(gate_);
  if (!inside) return;
  std::vector<uint64_t> for_pool;
  for (const uint64_t timer : timers) {
    const std::optional<TimerCall> call = all.BeginOnTimerThread(timer);
    if (!call) {
      for_pool.push_back(timer);
      continue;
    }
    call->function(call->data, COHOST_EVENT_RUN);
    all.End(timer);
  }
  if (for_pool.empty()) return;
  // What the pool does not take is cancelled with the service.
  (void)PostToPool([this, for_pool = std::move(for_pool)] { RunTimers(for_pool); });
}

void ServiceHost::RunTimers(std::span<const uint64_t> timers) {
  for (const uint64_t timer : timers) {
    const std::optional<TimerCall> call = parts_.timers->Begin(timer);
    if (!call) continue;
    call->function(call->data, COHOST_EVENT_RUN);
    parts_.timers->End(timer);
  }
}

cohost_status ServiceHost::StartCall(OutgoingCall call, cohost_call_callback callback, void* data,
                                     cohost_call* number) {
  const GateScope inside(gate_);
  if (!inside) return COHOST_GONE;
  CallTarget& target = parts_.lent.call_target;
  if (!target.Serves(call.service)) return COHOST_NOT_SUPPORTED;
  const uint64_t reserved = calls_.Reserve();
  if (reserved == 0) return COHOST_LIMIT;
  if (number != nullptr) *number = reserved;
  auto done = [self = shared_from_this(), callback, data, reserved](CallResult result) {
    self->DispatchServiceCode(
        [self = self.get(), callback, data, reserved, result = std::move(result)] {
          self->ReportCall(result, callback, data, reserved);
        },
        /*on_io_thread=*/true);
  };
  calls_.Started(reserved, target.Call(std::move(call), std::move(done)));
  return COHOST_OK;
}

void ServiceHost::ReportCall(const CallResult& result, cohost_call_callback callback, void* data,
                             cohost_call number) {
  std::vector<cohost_header> headers;
  headers.reserve(result.headers.size());
  for (const auto& [name, value] : result.headers) {
    headers.push_back({{name.data(), name.size()}, {value.data(), value.size()}});
  }
  cohost_call_answer answer = {};
  answer.size = sizeof(answer);
  answer.http_status = result.http_status;
  answer.headers = headers.data();
  answer.header_count = headers.size();
  answer.body = {result.body.data(), result.body.size()};
  callback(data, number, result.status, &answer);
  calls_.Finish(number);
}

void ServiceHost::CancelTasksAndTimers() {
  for (const ModuleTask& task : tasks_.Close()) task.callback(task.data, COHOST_EVENT_CANCELLED);
  for (const TimerCall& call : parts_.timers->TakeAll(*this)) {
    call.function(call.data, COHOST_EVENT_CANCELLED);
  }
}

}  // namespace cohost::worker::native
