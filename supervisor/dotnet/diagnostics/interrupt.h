// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <utility>

#include "absl/status/statusor.h"
#include "base/system/unique_fd.h"

namespace cohost::supervisor {

// Tells a thread that waits for something that nobody wants it any more. Thread-safe; stays raised.
class Interrupt {
 public:
  static absl::StatusOr<Interrupt> Create();
  Interrupt(Interrupt&& other) noexcept
      : event_(std::move(other.event_)), raised_(other.raised()) {}

  void Raise();
  bool raised() const { return raised_.load(std::memory_order_acquire); }
  // Readable once raised.
  int fd() const { return event_.get(); }

 private:
  explicit Interrupt(UniqueFd event) : event_(std::move(event)) {}

  UniqueFd event_;
  std::atomic<bool> raised_{false};
};

}  // namespace cohost::supervisor
