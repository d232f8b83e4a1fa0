// SPDX-License-Identifier: Apache-2.0
#include "worker/loop/handler_pool.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <utility>

namespace cohost::worker {
namespace {

// Signals of the process are for the threads that were made for them; faults are for whoever
// causes them.
sigset_t SignalsOfOthers() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
    sigdelset(&signals, fault);
  }
  return signals;
}

}  // namespace

struct HandlerPool::Thread {
  HandlerPool* pool = nullptr;
  pthread_t handle{};
};

HandlerPool::HandlerPool(ThreadSlots& slots, const Clock& clock, Options options)
    : slots_(slots), clock_(clock), options_(options) {}

HandlerPool::~HandlerPool() { Stop(); }

bool HandlerPool::Post(std::function<void()> task) {
  MutexLock lock(mutex_);
  if (stopping_) return false;
  if (queue_.size() >= idle_ && alive_ < options_.max_threads && !AddThread() && alive_ == 0) {
    return false;
  }
  queue_.push_back({std::move(task), clock_.Steady()});
  changed_.NotifyOne();
  return true;
}

HandlerPool::Statistics HandlerPool::statistics() const {
  MutexLock lock(mutex_);
  Statistics statistics;
  statistics.alive = alive_;
  statistics.busy = alive_ - idle_;
  if (!queue_.empty()) statistics.queue_age = clock_.Steady() - queue_.front().posted;
  return statistics;
}

void HandlerPool::Stop() {
  std::vector<std::unique_ptr<Thread>> threads;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
    while (alive_ + ending_ > 0) changed_.Wait(mutex_);
    threads.swap(ended_);
  }
  Join(threads);
}

bool HandlerPool::AddThread() {
  auto thread = std::make_unique<Thread>();
  thread->pool = this;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  // A size below the system's least is refused by it; then the default stays.
  (void)pthread_attr_setstacksize(&attributes, options_.stack_bytes);
  const sigset_t blocked = SignalsOfOthers();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const int error = pthread_create(
      &thread->handle, &attributes,
      [](void* argument) -> void* {
        auto& self = *static_cast<Thread*>(argument);
        self.pool->Run(self);
        return nullptr;
      },
      thread.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error != 0) return false;
  ++alive_;
  threads_.push_back(std::move(thread));
  return true;
}

void HandlerPool::Run(Thread& self) {
  slots_.Exchange({});
  std::vector<std::unique_ptr<Thread>> ended_before;
  {
    MutexLock lock(mutex_);
    while (WaitForTask()) {
      const std::function<void()> run = std::move(queue_.front().run);
      queue_.pop_front();
      mutex_.Unlock();
      run();
      mutex_.Lock();
    }
    --alive_;
    ++ending_;
    // Somebody else joins this thread: the next one that ends, or Stop.
    ended_before.swap(ended_);
    for (auto& thread : threads_) {
      if (thread.get() != &self) continue;
      ended_.push_back(std::move(thread));
      thread = std::move(threads_.back());
      threads_.pop_back();
      break;
    }
  }
  Join(ended_before);
  MutexLock lock(mutex_);
  --ending_;
  changed_.NotifyAll();
}

bool HandlerPool::WaitForTask() {
  const auto limit =
      std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(options_.idle_limit);
  while (queue_.empty()) {
    if (stopping_) return false;
    ++idle_;
    const bool in_time = changed_.WaitUntil(mutex_, limit);
    --idle_;
    if (!in_time && queue_.empty()) return false;
  }
  return true;
}

void HandlerPool::Join(const std::vector<std::unique_ptr<Thread>>& threads) {
  for (const auto& thread : threads) pthread_join(thread->handle, nullptr);
}

}  // namespace cohost::worker
