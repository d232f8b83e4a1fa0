// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "supervisor/ctl/diagnostics/nettrace_reader.h"

namespace cohost::supervisor {

// One value of an EventCounter.
struct CounterValue {
  std::string provider;      // "System.Runtime"
  std::string name;          // "cpu-usage"
  std::string display_name;  // "CPU Usage"
  std::string unit;          // "%", "MB"; may be empty
  double value = 0;
  // It is how much was added in `interval` seconds.
  bool is_increment = false;
  double interval = 0;
};

// The value of an "EventCounters" event; nothing for any other, or one that does not fit its own
// description. Texts are as the worker has them: not checked for what a terminal would do.
std::optional<CounterValue> ReadCounter(const EventKind& kind, std::string_view payload);

}  // namespace cohost::supervisor
