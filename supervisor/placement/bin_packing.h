// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "supervisor/placement/load.h"

namespace cohost::supervisor {

// Puts each item into a bin and returns the bins' numbers, one per item. Bins below
// `present.size()` are the present ones with what they hold; higher numbers are new bins, without a
// gap. The given order of items breaks ties. Each item must fit into an empty bin.
//
// Present bins first, each item to where the bin ends least full. What is left gets as few new bins
// as first-fit-decreasing finds and is spread over them evenly, so that each has room to grow.
std::vector<size_t> PackIntoBins(const std::vector<Load>& items, const std::vector<Load>& present,
                                 const LoadLimits& limits);

// Which items have to leave a bin that is over its limits: one if one is enough (the least full
// such, of equal ones the last), otherwise the fullest, and so on. Indices, rising; empty when all
// fit. Each item must fit into an empty bin.
std::vector<size_t> ChooseToLeave(const std::vector<Load>& items, const LoadLimits& limits);

}  // namespace cohost::supervisor
