// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/format/data_image.h"
#include "worker/sdk/cohost.h"
#include "worker/sdk/host.hpp"

namespace cohost {

// A counter or a gauge of the module's own. Copy it freely; use it from any thread. One beyond the
// limit of 16 does nothing.
class Metric {
 public:
  Metric() = default;
  Metric(cohost_service* service, std::string_view name, cohost_metric_kind kind) {
    if (host->metric(service, ToC(name), kind, &id_) == COHOST_OK) service_ = service;
  }
  void Add(double amount = 1) const {
    if (service_ != nullptr) host->metric_add(service_, id_, amount);
  }
  void Set(double value) const {
    if (service_ != nullptr) host->metric_set(service_, id_, value);
  }

 private:
  cohost_service* service_ = nullptr;
  cohost_metric id_ = 0;
};

// The service as the host sees it: settings, log, metrics, timers, tasks, threads, images. Copy it
// freely; any thread.
class Context {
 public:
  explicit Context(cohost_service* service) : service_(service) {}

  cohost_service* get() const { return service_; }
  cohost_service_info info() const {
    cohost_service_info info{};
    info.size = sizeof(info);
    host->service_info(service_, &info);
    return info;
  }
  std::string_view name() const { return ToView(info().name); }

  std::optional<std::string_view> setting(std::string_view key) const {
    cohost_string value{};
    if (host->setting(service_, ToC(key), &value) != COHOST_OK) return std::nullopt;
    return ToView(value);
  }
  std::string_view setting(std::string_view key, std::string_view otherwise) const {
    return setting(key).value_or(otherwise);
  }
  // A whole number; throws when the setting is there and is none.
  int64_t number(std::string_view key, int64_t otherwise) const {
    const std::optional<std::string_view> text = setting(key);
    if (!text) return otherwise;
    const size_t sign = !text->empty() && text->front() == '-' ? 1 : 0;
    int64_t value = 0;
    bool good = text->size() > sign && text->size() - sign <= 18;
    for (size_t i = sign; good && i < text->size(); ++i) {
      good = (*text)[i] >= '0' && (*text)[i] <= '9';
      value = value * 10 + ((*text)[i] - '0');
    }
    if (!good) throw std::runtime_error("setting " + std::string(key) + ": not a whole number");
    return sign == 1 ? -value : value;
  }
  // The items of a list: `key:0`, `key:1` and so on.
  std::vector<std::string_view> list(std::string_view key) const {
    std::vector<std::string_view> items;
    for (;;) {
      const auto item = setting(std::string(key) + ":" + std::to_string(items.size()));
      if (!item) return items;
      items.push_back(*item);
    }
  }
  // A data image, read where it is mapped. Throws when there is none of that name, or no image.
  DataImage image(std::string_view name) const {
    const void* base = nullptr;
    size_t size = 0;
    if (host->data_image(service_, ToC(name), &base, &size) != COHOST_OK) {
      throw std::runtime_error("no data image named " + std::string(name));
    }
    const char* problem = nullptr;
    const auto opened = DataImage::Open({static_cast<const char*>(base), size}, &problem);
    if (!opened) throw std::runtime_error(std::string(name) + ": " + problem);
    return *opened;
  }

  void Log(cohost_log_level level, std::string_view message) const {
    host->log(service_, level, ToC(message));
  }
  void Info(std::string_view message) const { Log(COHOST_LOG_INFO, message); }
  void Warning(std::string_view message) const { Log(COHOST_LOG_WARNING, message); }
  void Error(std::string_view message) const { Log(COHOST_LOG_ERROR, message); }
  void Progress(std::string_view message) const { host->start_progress(service_, ToC(message)); }

  Metric Counter(std::string_view name) const { return {service_, name, COHOST_COUNTER}; }
  Metric Gauge(std::string_view name) const { return {service_, name, COHOST_GAUGE}; }

  // Runs `work` on the pool; false when too many tasks wait. A task that is cancelled is destroyed
  // without being run.
  bool Post(std::function<void()> work) const;
  // Runs `work` once after `delay`; 0 when there are too many timers.
  cohost_timer After(std::chrono::nanoseconds delay, std::function<void()> work) const;
  // Runs `work` every `period` until it is cancelled or the service ends; 0 as above.
  cohost_timer Every(std::chrono::nanoseconds period, std::function<void()> work) const;
  // See timer_cancel. COHOST_OK destroys the function; the one of an Every that is running just
  // then (COHOST_WOULD_BLOCK) is destroyed with the service.
  cohost_status Cancel(cohost_timer timer) const;
  // A thread of the service, to be joined in Stop. Throws when there are too many.
  cohost_thread Spawn(std::string_view name, std::function<void()> work) const;
  cohost_status Join(cohost_thread thread) const { return host->join_thread(service_, thread); }

 private:
  cohost_service* service_;
};

namespace internal {

// Work given to the host as a `data` pointer.
struct Work {
  cohost_service* service;
  std::function<void()> run;
  cohost_timer timer = 0;
};

inline void RunGuarded(Work& work) noexcept {
  try {
    work.run();
  } catch (const std::exception& error) {
    Context(work.service).Error(std::string("task failed: ") + error.what());
  } catch (...) {
    Context(work.service).Error("task failed with an unknown exception");
  }
}
inline void OnceEvent(void* data, cohost_event event) noexcept {
  const std::unique_ptr<Work> work(static_cast<Work*>(data));
  if (event == COHOST_EVENT_RUN) RunGuarded(*work);
}

// Owns the functions of this module's armed timers, since no event tells of a timer that was
// cancelled. Thread-safe.
class TimedWork {
 public:
  // Never destroyed: timers may run until the process ends.
  static TimedWork& All() {
    static auto* const all = new TimedWork();
    return *all;
  }

  // 0 when there are too many timers.
  cohost_timer Arm(std::unique_ptr<Work> work, int64_t delay, int64_t period,
                   cohost_event_callback callback) {
    // Held over the call: a timer that is due at once waits until its number is known.
    const std::lock_guard<std::mutex> lock(mutex_);
    if (host->timer_add(work->service, delay, period, 0, callback, work.get(), &work->timer) !=
        COHOST_OK) {
      return 0;
    }
    const cohost_timer timer = work->timer;
    works_.emplace(timer, std::move(work));
    return timer;
  }
  std::unique_ptr<Work> Take(cohost_timer timer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return TakeLocked(timer);
  }
  // Of a callback's data pointer, which may be called before Arm has returned.
  std::unique_ptr<Work> Take(const Work* work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return TakeLocked(work->timer);
  }
  void Forget(const cohost_service* service) {
    // Destroyed after the lock is released: what a function holds may call back in here.
    std::vector<std::unique_ptr<Work>> forgotten;
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = works_.begin(); it != works_.end();) {
      if (it->second->service != service) {
        ++it;
        continue;
      }
      forgotten.push_back(std::move(it->second));
      it = works_.erase(it);
    }
  }

 private:
  std::unique_ptr<Work> TakeLocked(cohost_timer timer) {
    const auto found = works_.find(timer);
    if (found == works_.end()) return nullptr;
    std::unique_ptr<Work> work = std::move(found->second);
    works_.erase(found);
    return work;
  }

  std::mutex mutex_;
  std::unordered_map<cohost_timer, std::unique_ptr<Work>> works_;
};

inline void OnceTimerEvent(void* data, cohost_event event) noexcept {
  const std::unique_ptr<Work> work = TimedWork::All().Take(static_cast<Work*>(data));
  if (work != nullptr && event == COHOST_EVENT_RUN) RunGuarded(*work);
}
inline void PeriodicEvent(void* data, cohost_event event) noexcept {
  auto* work = static_cast<Work*>(data);
  if (event == COHOST_EVENT_RUN) {
    RunGuarded(*work);
  } else {
    (void)TimedWork::All().Take(work);
  }
}
inline void ThreadEntry(void* data) noexcept { OnceEvent(data, COHOST_EVENT_RUN); }

}  // namespace internal

inline bool Context::Post(std::function<void()> work) const {
  auto owned = std::make_unique<internal::Work>(internal::Work{service_, std::move(work)});
  if (host->post(service_, internal::OnceEvent, owned.get()) != COHOST_OK) return false;
  (void)owned.release();
  return true;
}

inline cohost_timer Context::After(std::chrono::nanoseconds delay,
                                   std::function<void()> work) const {
  return internal::TimedWork::All().Arm(
      std::make_unique<internal::Work>(internal::Work{service_, std::move(work)}), delay.count(), 0,
      internal::OnceTimerEvent);
}

inline cohost_timer Context::Every(std::chrono::nanoseconds period,
                                   std::function<void()> work) const {
  return internal::TimedWork::All().Arm(
      std::make_unique<internal::Work>(internal::Work{service_, std::move(work)}), period.count(),
      period.count(), internal::PeriodicEvent);
}

inline cohost_status Context::Cancel(cohost_timer timer) const {
  const cohost_status status = host->timer_cancel(service_, timer);
  if (status == COHOST_OK) (void)internal::TimedWork::All().Take(timer);
  return status;
}

inline cohost_thread Context::Spawn(std::string_view name, std::function<void()> work) const {
  auto owned = std::make_unique<internal::Work>(internal::Work{service_, std::move(work)});
  cohost_thread thread = 0;
  const cohost_status status =
      host->spawn_thread(service_, ToC(name), internal::ThreadEntry, owned.get(), &thread);
  if (status != COHOST_OK) throw std::runtime_error("cannot start a thread");
  (void)owned.release();
  return thread;
}

// A standard allocator whose memory is counted for the service: std::vector<int, Allocator<int>>.
template <typename T>
class Allocator {
 public:
  using value_type = T;
  explicit Allocator(cohost_service* service) : service_(service) {}
  template <typename U>
  Allocator(const Allocator<U>& other) : service_(other.service()) {}

  T* allocate(size_t count) {
    void* memory = nullptr;
    if (count <= SIZE_MAX / sizeof(T)) {
      memory = host->alloc(service_, count * sizeof(T), alignof(T));
    }
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) { host->free(service_, memory); }
  cohost_service* service() const { return service_; }
  bool operator==(const Allocator& other) const { return service_ == other.service_; }
  bool operator!=(const Allocator& other) const { return service_ != other.service_; }

 private:
  cohost_service* service_;
};

}  // namespace cohost
