// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "boost/asio/io_context.hpp"

namespace cohost::testing {

// Runs what is due on `io`, and what becomes due by that.
void PollAll(boost::asio::io_context& io);

// Runs `io` on this thread until `condition` is true; false when it is not within kPatience.
bool RunUntil(boost::asio::io_context& io, const std::function<bool()>& condition);

}  // namespace cohost::testing
