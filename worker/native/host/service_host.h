// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "worker/loop/serial_queue.h"
#include "worker/loop/timers.h"
#include "worker/native/host/callback_gate.h"
#include "worker/native/host/memory_account.h"
#include "worker/native/host/metric_table.h"
#include "worker/native/host/native_service_description.h"
#include "worker/native/host/runtime_parts.h"
#include "worker/native/host/service_calls.h"
#include "worker/native/host/task_queue.h"
#include "worker/native/loader/module.h"
#include "worker/native/loader/module_threads.h"
#include "worker/sdk/cohost.h"

namespace cohost::worker::native {

// What a cohost_service pointer points to: the host's side of one service. It offers what the
// module asks for, calls the module where its flags want it, and knows who is inside its code.
// Thread-safe. Owned by the runtime, which keeps it as long as the worker lives; the instance of
// the module is in it between Attach and Destroy.
class ServiceHost final : public TimerOwner, public std::enable_shared_from_this<ServiceHost> {
 public:
  // A report of the module about its own life.
  enum class Report { kStarted, kDrained, kStopped };
  using ReportCallback = std::function<void(const absl::Status&)>;

  // `parts` outlives it.
  ServiceHost(RuntimeParts& parts, NativeServiceDescription description);

  static ServiceHost* Of(cohost_service* service) {
    return reinterpret_cast<ServiceHost*>(service);
  }
  cohost_service* handle() { return reinterpret_cast<cohost_service*>(this); }

  const NativeServiceDescription& description() const { return description_; }
  RuntimeParts& parts() { return parts_; }
  MemoryAccount& memory() { return memory_; }
  MetricTable& metrics() { return metrics_; }
  ModuleThreads& threads() { return threads_; }
  CallbackGate& gate() { return gate_; }

  // Life-cycle thread: makes the instance. Requests may come only after it.
  absl::Status Attach(Module& module);
  // Life-cycle thread: lets nobody into the module any more, waits for those inside, cancels what
  // is left and destroys the instance. Nothing without one.
  void Destroy();

  // Life-cycle thread.
  bool attached() const { return attached_; }

  // Valid between Attach and Destroy, for whoever is inside the gate or on the life-cycle thread.
  const Module& module() const { return *module_; }
  void* instance() const { return instance_; }

  // The next report of that kind calls `callback` once, on the thread that reports.
  void Expect(Report report, ReportCallback callback);
  // False when nobody expects it (any more).
  bool Tell(Report report, const absl::Status& status);

  SteadyTime last_progress() const { return {last_progress_ns_.load(std::memory_order_relaxed)}; }
  void NoteProgress();

  std::optional<std::string_view> Setting(std::string_view key) const;
  // NOT_FOUND: the deployment has none of that name; UNAVAILABLE: its file cannot be mapped.
  absl::StatusOr<std::string_view> Image(std::string_view name);
  void Log(cohost_log_level level, std::string_view message);

  // Takes the lock of a SERIAL service while it runs `work` inside the module. Nothing when the
  // service is being destroyed.
  void RunInModule(const std::function<void()>& work);
  // Runs `work` as service code: for INLINE modules on the I/O thread, else on the pool.
  // `on_io_thread`: the caller is on it.
  void DispatchServiceCode(std::function<void()> work, bool on_io_thread);

  cohost_status PostTask(const ModuleTask& task);
  cohost_status AddTimer(absl::Duration delay, absl::Duration period, const TimerCall& call,
                         cohost_timer* timer);
  cohost_status CancelTimer(cohost_timer timer);
  cohost_status StartCall(OutgoingCall call, cohost_call_callback callback, void* data,
                          cohost_call* number);
  bool CancelCall(cohost_call call) { return calls_.Cancel(call); }

  // TimerOwner
  void OnDue(std::span<const uint64_t> timers) override;

 private:
  bool PostToPool(std::function<void()> work);
  void RunTimers(std::span<const uint64_t> timers);
  void ReportCall(const CallResult& result, cohost_call_callback callback, void* data,
                  cohost_call number);
  void CancelTasksAndTimers();

  // Set in the constructor, never changed.
  RuntimeParts& parts_;
  const NativeServiceDescription description_;

  // Set by Attach, cleared by Destroy.
  Module* module_ = nullptr;
  void* instance_ = nullptr;
  bool attached_ = false;  // life-cycle thread only

  MemoryAccount memory_;
  MetricTable metrics_;
  ModuleThreads threads_;
  TaskQueue tasks_;
  ServiceCalls calls_;
  CallbackGate gate_;
  SerialQueue serial_;
  // Held while code of a SERIAL service runs: requests come through another queue than tasks.
  Mutex serial_mutex_;
  std::atomic<int64_t> last_progress_ns_;

  Mutex reports_mutex_;
  ReportCallback reports_[3] ABSL_GUARDED_BY(reports_mutex_);
};

}  // namespace cohost::worker::native
