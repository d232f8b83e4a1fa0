// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace cohost::supervisor {

// One line of the host's history; the fields are those of cohost.admin.v1.Event. Id and time are
// given when it is recorded.
struct HostEvent {
  uint64_t id = 0;
  uint64_t cause_id = 0;  // 0: none
  absl::Time time;
  std::string kind;
  std::string group;
  std::optional<uint32_t> slot;
  uint32_t generation = 0;
  std::string service;
  std::string from;
  std::string to;
  std::string message;
  std::optional<uid_t> uid;  // of the operator who caused it
  friend bool operator==(const HostEvent&, const HostEvent&) = default;
};

}  // namespace cohost::supervisor
