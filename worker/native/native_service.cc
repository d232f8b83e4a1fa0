// SPDX-License-Identifier: Apache-2.0
#include "worker/native/native_service.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "worker/native/host/request_table.h"
#include "worker/native/loader/module_threads.h"

namespace cohost::worker::native {
namespace {

// In Exchange::runtime_tag instead of a number: it ended before the module got to know it.
constexpr uint64_t kEndedTag = ~uint64_t{0};

// One line for people.
constexpr size_t kHealthReasonSize = 512;

static_assert(static_cast<uint32_t>(CancelReason::kClientGone) == COHOST_CANCEL_CLIENT_GONE &&
              static_cast<uint32_t>(CancelReason::kRequestTimeout) ==
                  COHOST_CANCEL_REQUEST_TIMEOUT &&
              static_cast<uint32_t>(CancelReason::kDraining) == COHOST_CANCEL_DRAINING &&
              static_cast<uint32_t>(CancelReason::kRemoved) == COHOST_CANCEL_REMOVED &&
              static_cast<uint32_t>(CancelReason::kProtocol) == COHOST_CANCEL_PROTOCOL);

// Set by the thread of Handle, read by the I/O thread.
std::atomic_ref<uint64_t> Tag(Exchange& exchange) {
  return std::atomic_ref<uint64_t>(exchange.runtime_tag);
}

Dispatch DispatchOf(const Module& module) {
  if (module.Has(COHOST_INLINE)) return Dispatch::kInline;
  return module.Has(COHOST_SERIAL) ? Dispatch::kSerial : Dispatch::kPool;
}

// A status on its way to another thread, without the reference count that absl::Status shares: the
// thread sanitizer cannot see that one in an uninstrumented Abseil.
struct Outcome {
  explicit Outcome(const absl::Status& status) : code(status.code()), message(status.message()) {}
  absl::Status ToStatus() const { return {code, message}; }

  absl::StatusCode code;
  std::string message;
};

// Runs a life-cycle step with the thread marked as working for the service: a module that crashes
// here is named by it.
void RunStep(ServiceHost& host, const std::function<void()>& step) {
  const ScopedWork work(host.parts().slots(), host.description().row,
                        host.parts().lent.clock.Steady());
  step();
}

// Loads the module, makes the instance and has it started. The outcome comes by the kStarted
// report.
absl::Status LoadAndStart(ServiceHost& host) {
  COHOST_ASSIGN_OR_RETURN(Module * module,
                          host.parts().modules.Load(host.description().module_path));
  host.NoteProgress();
  COHOST_RETURN_IF_ERROR(host.Attach(*module));
  host.NoteProgress();
  if (module->table().start == nullptr) {
    (void)host.Tell(ServiceHost::Report::kStarted, absl::OkStatus());
  } else {
    module->table().start(host.instance());
  }
  return absl::OkStatus();
}

}  // namespace

NativeService::NativeService(RuntimeParts& parts, std::shared_ptr<ServiceHost> host)
    : parts_(parts), host_(std::move(host)) {}

void NativeService::Start(std::function<void(absl::Status)> done) {
  using Report = ServiceHost::Report;
  host_->NoteProgress();
  auto finish = [post = parts_.lent.post_to_io, done = std::move(done)](Outcome outcome) {
    post([done, outcome = std::move(outcome)] { done(outcome.ToStatus()); });
  };
  host_->Expect(Report::kStarted, [host = host_, life = life_, finish](const absl::Status& status) {
    if (status.ok()) return finish(Outcome(status));
    // It is destroyed when `start` has returned, and only then is the failure told.
    (void)life.Post([host, finish, outcome = Outcome(status)] {
      RunStep(*host, [&] { host->Destroy(); });
      finish(outcome);
    });
  });
  const bool posted = life_.Post([host = host_] {
    RunStep(*host, [&] {
      const absl::Status status = LoadAndStart(*host);
      if (!status.ok()) (void)host->Tell(Report::kStarted, status);
    });
  });
  if (posted) return;
  host_->Expect(Report::kStarted, nullptr);
  finish(Outcome(absl::ResourceExhaustedError("no thread to load the module")));
}

Dispatch NativeService::dispatch() const { return DispatchOf(host_->module()); }

void NativeService::Handle(std::shared_ptr<Exchange> exchange) {
  const GateScope inside(host_->gate());
  if (!inside) return exchange->Abort();
  Exchange& view = *exchange;
  RequestTable& table = RequestTable::Process();
  const cohost_request request = table.Add(exchange, *host_);
  if (request == 0) {
    (void)view.Respond(503, {}, "too many requests are open in this worker\n");
    return;
  }
  uint64_t unknown = 0;
  if (!Tag(view).compare_exchange_strong(unknown, request)) {
    (void)table.Remove(request);
    return;
  }
  const Module& module = host_->module();
  if (module.Has(COHOST_SERIAL)) {
    return host_->RunInModule([&] { module.table().request(host_->instance(), request); });
  }
  const ScopedPlace place(module.Has(COHOST_INLINE) ? ThreadPlace::kIo : ThreadPlace::kOther);
  module.table().request(host_->instance(), request);
}

void NativeService::Ended(Exchange& exchange, const CancelReason* cancelled) {
  const uint64_t request = Tag(exchange).exchange(kEndedTag);
  if (request == 0 || request == kEndedTag) return;
  RequestTable& table = RequestTable::Process();
  if (cancelled == nullptr) {
    (void)table.Remove(request);
    return;
  }
  if (!table.MarkCancelled(request)) return;
  const GateScope inside(host_->gate());
  if (!inside || host_->module().table().cancel == nullptr) return;
  const ScopedPlace place(ThreadPlace::kIo);
  host_->module().table().cancel(host_->instance(), request,
                                 static_cast<cohost_cancel_reason>(*cancelled));
}

void NativeService::Drain(std::function<void()> done) {
  using Report = ServiceHost::Report;
  auto finish = [post = parts_.lent.post_to_io, done = std::move(done)] { post(done); };
  host_->Expect(Report::kDrained, [finish](const absl::Status&) { finish(); });
  const bool posted = life_.Post([host = host_] {
    if (!host->attached() || host->module().table().drain == nullptr) {
      (void)host->Tell(Report::kDrained, absl::OkStatus());
      return;
    }
    RunStep(*host, [&] { host->module().table().drain(host->instance()); });
  });
  // Without a thread the module cannot be asked: it has nothing more to finish than its requests.
  if (!posted) (void)host_->Tell(Report::kDrained, absl::OkStatus());
}

void NativeService::Stop(std::function<void()> done) {
  using Report = ServiceHost::Report;
  auto finish = [post = parts_.lent.post_to_io, done = std::move(done)] { post(done); };
  host_->Expect(Report::kStopped, [host = host_, life = life_, finish](const absl::Status&) {
    (void)life.Post([host, finish] {
      RunStep(*host, [&] { host->Destroy(); });
      finish();
    });
  });
  // Without a thread nothing happens, and the caller's limit ends the wait.
  (void)life_.Post([host = host_] {
    if (!host->attached() || host->module().table().stop == nullptr) {
      (void)host->Tell(Report::kStopped, absl::OkStatus());
      return;
    }
    RunStep(*host, [&] { host->module().table().stop(host->instance()); });
  });
}

HealthAnswer NativeService::Health() {
  if (in_health_.exchange(true)) {
    return {false, "an earlier call of the health callback has not returned"};
  }
  HealthAnswer answer;
  {
    const GateScope inside(host_->gate());
    if (inside && host_->module().table().health != nullptr) {
      std::array<char, kHealthReasonSize> reason = {};
      size_t size = 0;
      const cohost_status status =
          host_->module().table().health(host_->instance(), reason.data(), reason.size(), &size);
      answer.healthy = status == COHOST_OK;
      if (!answer.healthy) answer.reason.assign(reason.data(), std::min(size, reason.size()));
      if (!answer.healthy && answer.reason.empty()) {
        answer.reason = absl::StrCat("the module's health callback answered ", status);
      }
    }
  }
  in_health_.store(false);
  return answer;
}

uint32_t NativeService::timers() const { return parts_.timers->count(*host_); }

}  // namespace cohost::worker::native
