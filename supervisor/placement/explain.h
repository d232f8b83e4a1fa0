// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "supervisor/placement/load.h"

namespace cohost::supervisor {

// The words in which a placement explains itself.

// "grouping.worker_memory (256Mi)".
std::string LimitText(const LoadLimits& limits, LoadLimit limit);

// "12 of 16 services, 96Mi of 256Mi declared memory, 0.41 of 1 cores in the busiest hour".
std::string LoadText(const Load& load, const LoadLimits& limits);

// "needs a worker of its own: App.dll uses System.Environment.Exit".
std::string WhyAlone(std::string_view because);

}  // namespace cohost::supervisor
