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
#include "supervisor/modules/module_store.h"
#include "supervisor/profile/unshared_memory.h"
#include "supervisor/snapshot.h"
#include "supervisor/state/saved_state.h"

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

// A module of one service, from a file.
struct DeployRequest {
  std::string service;
  std::string path;  // absolute; empty: the files that the service has
  bool wait = false;
  absl::Duration canary_time;  // how long the canary must stay ready
};

// Back to an earlier revision, of one service or of the whole deployment.
struct RollbackRequest {
  std::string service;    // empty: the deployment
  uint64_t revision = 0;  // 0: of a service the one before; needed for a deployment
  bool wait = false;
};

struct DeployOutcome {
  uint64_t revision = 0;
  // False: what was asked for was in force already, and nothing was done.
  bool changed = false;
  std::string service;
  std::string module_before, module_after;  // SHA-256
  uint64_t restored = 0;                    // of a rollback: the revision it went back to
  std::vector<std::string> serving;         // slots in which the new version serves, "steady-1/0"
  std::vector<std::string> remarks;         // warnings of the module, and what to do next
  std::vector<ConfigProblem> problems;      // not empty: nothing changed
};

struct HistoryView {
  std::vector<StateRevision> revisions;  // of the deployment, the newest first, without texts
  std::vector<ServiceChange> changes;    // of one service, the newest first
  uint64_t current = 0;                  // the revision in force
  // Since when the service does not run as the deployment file says.
  std::optional<uint64_t> held_since;
};

// What looking after the module store found and did.
struct StoreOutcome {
  StoreCheck check;
  std::vector<std::string> missing;  // files that services in force need, one line each
  StoreCollection collection;
  std::vector<std::string> removed_trees;  // paths
};

// A file of the store that services use.
struct ExportedFile {
  StoredFile file;
  std::string signatures;  // the text that the store keeps; empty: none
};

struct FileUse {
  std::string service;
  std::string data_image;  // name that the module asks for; empty: it is the module
  std::string hash;
  std::string source;
};

// The deployment in force, for another host.
struct DeploymentExport {
  uint64_t revision = 0;
  uint16_t port_offset = 0;         // in `text` already
  std::string text;                 // FormatDeployment's: secrets are references
  std::vector<ExportedFile> files;  // by hash
  std::vector<FileUse> uses;        // by service
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

  // `action` is kReload, or kImport for a file that has come from another host: then no service is
  // held any more.
  virtual void Reload(Caller caller, ChangeAction action,
                      std::function<void(absl::StatusOr<ReloadOutcome>)> done) = 0;
  virtual void Recycle(Caller caller, std::string group, std::optional<uint32_t> slot,
                       std::function<void(absl::StatusOr<RecycleOutcome>)> done) = 0;
  // The event's id.
  virtual void StopService(Caller caller, std::string name,
                           std::function<void(absl::StatusOr<uint64_t>)> done) = 0;
  virtual void StartService(Caller caller, std::string name,
                            std::function<void(absl::StatusOr<uint64_t>)> done) = 0;

  // Tries the service's new files in one worker, then gives them to all. FAILED_PRECONDITION when
  // the canary does not become ready (nothing has changed then); ABORTED when `wait` is asked for
  // and some other worker does not follow.
  virtual void Deploy(Caller caller, DeployRequest request,
                      std::function<void(absl::StatusOr<DeployOutcome>)> done) = 0;
  virtual void Rollback(Caller caller, RollbackRequest request,
                        std::function<void(absl::StatusOr<DeployOutcome>)> done) = 0;
  // Of a service, or of the deployment when the name is empty; at most `limit` entries.
  virtual void ReadHistory(std::string service, uint32_t limit,
                           std::function<void(absl::StatusOr<HistoryView>)> done) = 0;
  virtual void ExportDeployment(std::function<void(absl::StatusOr<DeploymentExport>)> done) = 0;
  // Reads every file of the module store when `check`, removes those that nobody needs when
  // `collect`.
  virtual void MaintainStore(Caller caller, bool check, bool collect,
                             std::function<void(absl::StatusOr<StoreOutcome>)> done) = 0;

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

  // What the services would take unshared, on a sample of 1 to 16 in workers of their own.
  virtual void MeasureUnshared(Caller caller, uint32_t samples,
                               std::function<void(absl::StatusOr<UnsharedMemory>)> done) = 0;

  // Writes down what a caller has asked for.
  virtual void Record(HostEvent event) = 0;
  // Events with id > after_id, oldest first, at most `limit`; `last` > 0: only the last so many.
  virtual void ReadEvents(uint64_t after_id, uint32_t last, uint32_t limit,
                          std::function<void(absl::StatusOr<std::vector<HostEvent>>)> done) = 0;
  // `event` is called on the loop thread for every new event until the returned function is called.
  virtual std::function<void()> SubscribeEvents(std::function<void(const HostEvent&)> event) = 0;
};

}  // namespace cohost::supervisor
