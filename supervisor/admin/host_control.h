// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "supervisor/host_event.h"
#include "supervisor/snapshot.h"

namespace cohost::supervisor {

// Who asks, for events: from SO_PEERCRED of the admin connection.
struct Caller {
  uid_t uid = 0;
  std::string request_id;
  uint64_t if_revision = 0;  // 0: whatever it is
};

struct ConfigProblem {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  std::string key_path;
  std::string message;
};

struct ReloadOutcome {
  uint64_t revision = 0;
  std::vector<std::string> added, removed, changed, moved;
  std::vector<ConfigProblem> problems;  // not empty: nothing changed
};

struct RecycleOutcome {
  std::vector<std::string> recycled;
  std::vector<std::string> failed;
};

struct PlannedGroupView {
  std::string name;
  bool declared = false;
  uint32_t workers = 0;
  std::vector<std::pair<std::string, std::string>> services;  // name, reason
  Bytes memory;
  double peak_cpu = 0;
  std::string reason;
};
struct PlanOutcome {
  std::vector<PlannedGroupView> groups;
  std::vector<std::string> moved;
  std::vector<ConfigProblem> problems;
};

enum class MemoryDepth {
  kProcesses,  // totals of every process
  kModules,    // and who pays for which module: reads all mappings
};

// What operators can do to the host. Every method may be called from any thread; the work is done
// on the loop thread and `done` is called there, once, and must not block. Implemented by
// Supervisor, and by a fake for the tests of admin.
class HostControl {
 public:
  virtual ~HostControl() = default;

  // The newest published snapshot, never null.
  virtual std::shared_ptr<const HostSnapshot> snapshot() const = 0;

  virtual void Reload(Caller caller, std::function<void(absl::StatusOr<ReloadOutcome>)> done) = 0;
  virtual void Recycle(Caller caller, std::string group, std::optional<uint32_t> slot,
                       std::function<void(absl::StatusOr<RecycleOutcome>)> done) = 0;
  // The event's id.
  virtual void StopService(Caller caller, std::string name,
                           std::function<void(absl::StatusOr<uint64_t>)> done) = 0;
  virtual void StartService(Caller caller, std::string name,
                            std::function<void(absl::StatusOr<uint64_t>)> done) = 0;

  // Empty text: the file on disk. Bounded CPU; runs off the loop.
  virtual void Plan(std::string text, std::string file_name,
                    std::function<void(absl::StatusOr<PlanOutcome>)> done) = 0;
  virtual void Validate(
      std::string text, std::string file_name,
      std::function<void(std::vector<ConfigProblem>, uint32_t services)> done) = 0;

  // Fresh figures of all processes, at most one measuring at a time.
  virtual void MeasureMemory(
      MemoryDepth depth,
      std::function<void(absl::StatusOr<std::shared_ptr<const HostSnapshot>>)> done) = 0;

  // Events with id > after_id, oldest first, at most `limit`; `last` > 0: only the last so many.
  virtual void ReadEvents(uint64_t after_id, uint32_t last, uint32_t limit,
                          std::function<void(absl::StatusOr<std::vector<HostEvent>>)> done) = 0;
  // `event` is called on the loop thread for every new event until the returned function is called.
  virtual std::function<void()> SubscribeEvents(std::function<void(const HostEvent&)> event) = 0;
};

}  // namespace cohost::supervisor
