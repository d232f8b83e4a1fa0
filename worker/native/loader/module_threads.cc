// SPDX-License-Identifier: Apache-2.0
#include "worker/native/loader/module_threads.h"

#include <pthread.h>

#include <atomic>
#include <system_error>
#include <utility>
#include <vector>

namespace cohost::worker::native {
namespace {

thread_local ThreadPlace current_place = ThreadPlace::kOther;
// The module thread that runs here; 0: none.
thread_local const ModuleThreads* current_owner = nullptr;
thread_local uint64_t current_thread = 0;

struct Entered {
  uint64_t id;
  ThreadSlots* slots;
  ThreadWork before;
};

std::vector<Entered>& EnteredHere() {
  thread_local std::vector<Entered> entered;
  return entered;
}

}  // namespace

ThreadPlace CurrentPlace() { return current_place; }

ScopedPlace::ScopedPlace(ThreadPlace place) : before_(std::exchange(current_place, place)) {}

ScopedPlace::~ScopedPlace() { current_place = before_; }

uint64_t EnterService(ThreadSlots& slots, uint32_t row, SteadyTime now) {
  static std::atomic<uint64_t> last{0};
  const uint64_t id = last.fetch_add(1, std::memory_order_relaxed) + 1;
  EnteredHere().push_back({id, &slots, slots.Exchange({ThreadState::kInService, row, now})});
  return id;
}

void LeaveService(uint64_t entered) {
  std::vector<Entered>& here = EnteredHere();
  for (size_t depth = here.size(); depth > 0; --depth) {
    if (here[depth - 1].id != entered) continue;
    // What was entered later and not left ends with it.
    here[depth - 1].slots->Exchange(here[depth - 1].before);
    here.resize(depth - 1);
    return;
  }
}

ModuleThreads::~ModuleThreads() {
  MutexLock lock(mutex_);
  for (auto& [id, thread] : threads_) thread.handle.detach();
}

cohost_status ModuleThreads::Spawn(const std::string& name, void (*entry)(void*), void* data,
                                   cohost_thread* thread) {
  MutexLock lock(mutex_);
  Reap();
  if (closed_) return COHOST_GONE;
  if (threads_.size() >= kMaxThreads) return COHOST_LIMIT;
  const uint64_t id = ++last_;
  try {
    threads_[id].handle = std::thread([=, this] { Run(id, name, entry, data); });
  } catch (const std::system_error&) {
    threads_.erase(id);
    return COHOST_LIMIT;
  }
  if (thread != nullptr) *thread = id;
  return COHOST_OK;
}

cohost_status ModuleThreads::Join(cohost_thread thread) {
  if (CurrentPlace() != ThreadPlace::kOther) return COHOST_INVALID;
  if (current_owner == this && current_thread == thread) return COHOST_INVALID;
  std::thread handle;
  {
    MutexLock lock(mutex_);
    for (;;) {
      const auto found = threads_.find(thread);
      if (found == threads_.end()) return COHOST_GONE;
      if (found->second.ended) {
        handle = std::move(found->second.handle);
        threads_.erase(found);
        break;
      }
      ended_.Wait(mutex_);
    }
    ended_.NotifyAll();
  }
  handle.join();
  return COHOST_OK;
}

size_t ModuleThreads::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  Reap();
  return threads_.size();
}

void ModuleThreads::Run(uint64_t id, const std::string& name, void (*entry)(void*), void* data) {
  pthread_setname_np(pthread_self(), name.c_str());
  current_owner = this;
  current_thread = id;
  {
    const ScopedWork work(slots_, row_, clock_.Steady());
    entry(data);
  }
  MutexLock lock(mutex_);
  threads_[id].ended = true;
  ended_.NotifyAll();
}

void ModuleThreads::Reap() {
  for (auto thread = threads_.begin(); thread != threads_.end();) {
    if (!thread->second.ended) {
      ++thread;
      continue;
    }
    // It is on its last instructions and takes no lock any more after the one that we hold.
    thread->second.handle.join();
    thread = threads_.erase(thread);
  }
}

}  // namespace cohost::worker::native
