// SPDX-License-Identifier: Apache-2.0
#include "tests/support/loop.h"

#include <chrono>

#include "tests/support/wait.h"

namespace cohost::testing {

void PollAll(boost::asio::io_context& io) {
  do {
    io.restart();
  } while (io.poll() > 0);
}

bool RunUntil(boost::asio::io_context& io, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(kPatience);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    io.restart();
    io.run_one_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace cohost::testing
