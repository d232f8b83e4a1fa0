// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "supervisor/dotnet/diagnostics/interrupt.h"

// Reading and writing descriptors that do not block, until a moment of the steady clock and as long
// as somebody wants it. DEADLINE_EXCEEDED at the moment, CANCELLED after the interrupt. For threads
// that may wait.
namespace cohost::supervisor {

// For one of `events` of poll(2); an error or a hang-up of `fd` ends it too.
absl::Status WaitFor(int fd, short events, SteadyTime until, const Interrupt& interrupt);

// OUT_OF_RANGE when the other end has closed before all was taken.
absl::Status SendAll(int fd, std::string_view bytes, SteadyTime until, const Interrupt& interrupt);

// At least one byte and at most `most`; empty: the other end has closed.
absl::StatusOr<std::string> ReceiveSome(int fd, size_t most, SteadyTime until,
                                        const Interrupt& interrupt);

// OUT_OF_RANGE when the other end closes before.
absl::StatusOr<std::string> ReceiveExactly(int fd, size_t size, SteadyTime until,
                                           const Interrupt& interrupt);

}  // namespace cohost::supervisor
