// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/clock.h"

namespace boost::asio {
class io_context;
}

namespace cohost::worker {

class DeadlineQueue;

// One limit that moves often and is seldom reached, such as a connection's. Loop thread only.
// Moving it later, or clearing it, is one store: the queue looks again when the former time has
// come.
class Deadline {
 public:
  Deadline() = default;
  virtual ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  // OnDeadline will be called once at `due` or a little later.
  void Set(DeadlineQueue& queue, SteadyTime due);
  void Clear() { due_ = {}; }
  // Clears it and forgets the queue, which may go from here on.
  void Leave();
  SteadyTime due() const { return due_; }

 protected:
  // May set, clear or destroy any deadline, this one included.
  virtual void OnDeadline() = 0;

 private:
  friend class DeadlineQueue;

  SteadyTime due_;                  // unset: none
  SteadyTime scheduled_;            // when the queue looks at it
  DeadlineQueue* queue_ = nullptr;  // set while it is in the queue
  size_t position_ = 0;             // in the queue's heap
};

// All deadlines of one I/O loop behind one timer: a heap ordered by when to look. Loop thread only.
// Outlives its deadlines.
class DeadlineQueue {
 public:
  DeadlineQueue(boost::asio::io_context& io, const Clock& clock);
  ~DeadlineQueue();
  DeadlineQueue(const DeadlineQueue&) = delete;
  DeadlineQueue& operator=(const DeadlineQueue&) = delete;

  // Calls what is due by the clock; the timer does this by itself.
  void RunDue();

  const Clock& clock() const { return clock_; }

 private:
  friend class Deadline;
  struct Timer;

  void Insert(Deadline& deadline);
  void Remove(Deadline& deadline);
  void SiftUp(size_t position);
  void SiftDown(size_t position);
  void Place(Deadline* deadline, size_t position);
  // Starts the timer for the first entry unless it runs for an earlier time.
  void Arm();

  // Set in the constructor, never changed.
  const Clock& clock_;

  std::vector<Deadline*> heap_;
  const std::unique_ptr<Timer> timer_;
  SteadyTime armed_;  // unset: the timer does not run
  bool running_ = false;
};

}  // namespace cohost::worker
