// SPDX-License-Identifier: Apache-2.0
#include "supervisor/dotnet/diagnostics/interrupt.h"

#include <sys/eventfd.h>

#include <cerrno>

#include "base/status.h"

namespace cohost::supervisor {

absl::StatusOr<Interrupt> Interrupt::Create() {
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return ErrnoStatus(errno, "eventfd", "");
  return Interrupt(std::move(event));
}

void Interrupt::Raise() {
  raised_.store(true, std::memory_order_release);
  // Ignoring a failure: it is raised already when the counter is full.
  (void)::eventfd_write(event_.get(), 1);
}

}  // namespace cohost::supervisor
