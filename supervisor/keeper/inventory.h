// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/system/unique_fd.h"
#include "supervisor/keeper/connection.h"
#include "supervisor/keeper/processes.h"
#include "supervisor/keeper/protocol.h"

namespace cohost::supervisor {

// What the keeper has for the supervisor, the present one or the next: named descriptors, exit
// records that were not acknowledged, and (asked of Processes) what runs. It hands all of it over
// step by step, as the connection takes it. Keeper's thread only; `processes` outlives it.
class Inventory {
 public:
  explicit Inventory(const Processes& processes) : processes_(processes) {}

  // Replaces an entry of the same name.
  void Hold(const std::string& name, const std::string& blob, std::vector<UniqueFd> descriptors);
  void Release(const std::string& name) { held_.erase(name); }
  void AddExit(ExitNotice notice);
  void Acknowledge(uint64_t record) { notices_.erase(record); }

  // Begins to answer the kList with this sequence; Pump goes on.
  void BeginList(uint64_t sequence, const KeeperMessage& begin, Connection& connection);
  // A list is being answered: no further request is taken before its end.
  bool listing() const { return listing_.has_value(); }
  // Sends what there is room for: the rest of a list, then exit records.
  void Pump(Connection& connection);
  // The supervisor is gone: the next one is told everything again, when it asks.
  void ForgetSupervisor();

 private:
  struct Held {
    std::string blob;
    SharedDescriptors descriptors;
  };
  struct Notice {
    ExitNotice exit;
    bool sent = false;  // to the present supervisor
  };
  // How far a list was answered: entries by name, then processes by name.
  struct Listing {
    uint64_t sequence = 0;
    enum class Stage { kHeld, kProcesses } stage = Stage::kHeld;
    std::string last{};
  };
  // False when nothing more is to be listed.
  bool ListOne(Connection& connection);

  const Processes& processes_;
  std::map<std::string, Held> held_;
  std::map<uint64_t, Notice> notices_;
  uint64_t next_record_ = 1;
  // The present supervisor asked for the list, so it wants exit records.
  bool listed_ = false;
  std::optional<Listing> listing_;
};

}  // namespace cohost::supervisor
