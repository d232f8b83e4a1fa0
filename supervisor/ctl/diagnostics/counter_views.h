// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "proto/admin.pb.h"
#include "supervisor/ctl/diagnostics/counter_event.h"
#include "supervisor/ctl/look.h"

// One interval of `cohostctl counters`. Pure functions.
namespace cohost::supervisor {

// For people: the worker and all its services, the counters, and what the named service itself has.
std::string CountersView(const admin::v1::DiagnosedWorker& worker,
                         const std::vector<CounterValue>& counters,
                         const admin::v1::Service& service, const Look& look);

// For programs, on one line.
std::string CountersJson(const admin::v1::DiagnosedWorker& worker,
                         const std::vector<CounterValue>& counters,
                         const admin::v1::Service& service, absl::Time now);

}  // namespace cohost::supervisor
