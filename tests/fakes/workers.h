// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/format/link_protocol.h"
#include "base/format/segment.h"
#include "base/system/seqpacket.h"
#include "base/system/unique_fd.h"
#include "supervisor/pool/generation/worker_client.h"
#include "supervisor/process/process_launcher.h"
#include "tests/fakes/process_launcher.h"

namespace cohost::supervisor {

// How the workers of a test behave; services by name.
struct WorkerBehaviour {
  std::set<std::string> deadly;                // loading them kills the worker (SIGSEGV)
  std::map<std::string, std::string> failing;  // and why
  std::set<std::string> expired;               // loading them ends by the call's deadline
  std::set<std::string> hanging;               // loading them never ends
  std::set<std::string> refused_rows;          // answered with a row that is not theirs
  bool ignores_stop = false;
  bool never_drained = false;
  bool silent_link = false;    // says nothing on the link
  std::set<std::string> deaf;  // process names that answer no probe
  std::string binary_id = "build-1";
};

// The worker's side of one process: a peer on the real link and segment.
class FakeWorker {
 public:
  FakeWorker(std::string name, UniqueFd link, UniqueFd segment, const WorkerBehaviour& behaviour);
  ~FakeWorker();

  // Reads and answers what waits on the link; true when something did.
  bool Run();
  bool wants_to_exit() const { return wants_to_exit_; }
  const std::optional<std::string>& dies() const { return dies_; }

  // What the client asks for.
  std::optional<absl::StatusOr<AssignOutcome>> Assign(const ServiceTarget& service);
  absl::Status Remove(uint64_t service_id);

  // Counts finished requests of a service in its row.
  void Count(uint64_t service_id, uint64_t requests);
  void SendServiceState(uint64_t service_id, RowState state);
  void SendRaw(const std::string& bytes);
  void SendDrained();

  const std::string& name() const { return name_; }
  const std::set<uint64_t>& tokens() const { return tokens_; }
  bool draining() const { return draining_; }
  uint32_t rearms() const { return rearms_; }
  uint32_t log_files() const { return log_files_; }
  uint32_t successors() const { return successors_; }
  uint32_t predecessors() const { return predecessors_; }
  std::vector<uint64_t> services() const;
  // Of a service that it has; empty otherwise.
  std::string ModulePath(uint64_t service_id) const;
  // Ids that came over its channels: each client writes its own.
  bool HasChannel(uint64_t client) const { return channels_.contains(client); }
  Segment& segment() { return *segment_; }

 private:
  struct Service {
    uint64_t revision = 0;
    std::string module_path;
    uint32_t row = kNoRow;
    RowState state = RowState::kLoading;
  };

  void Receive(Message message);
  void Send(const LinkMessage& message);

  const std::string name_;
  UniqueFd link_;
  Segment* segment_;
  const WorkerBehaviour& behaviour_;
  std::map<uint64_t, Service> services_;
  std::set<uint64_t> tokens_;
  std::set<uint64_t> channels_;
  uint32_t next_row_ = 0;
  uint32_t rearms_ = 0;
  uint32_t log_files_ = 0;
  uint32_t successors_ = 0;
  uint32_t predecessors_ = 0;
  bool draining_ = false;
  bool wants_to_exit_ = false;
  std::optional<std::string> dies_;
};

// All processes of a test: a launcher that gives each launched process a FakeWorker, and the
// clients that reach them. They outlive every pool, as real workers do. Single-threaded: nothing
// happens but in Run.
class FakeWorkers final : public ProcessLauncher, public WorkerClientFactory {
 public:
  // ProcessLauncher
  void Launch(ProcessSpec spec, std::function<void(absl::StatusOr<LaunchedProcess>)> done) override;
  void Kill(const std::string& name, std::function<void(absl::Status)> done) override;
  void OnExit(std::function<void(const ExitRecord&)> handler) override;
  // WorkerClientFactory
  std::unique_ptr<WorkerClient> Connect(UniqueFd socket) override;

  // One round of everything; true when something happened.
  bool Run();

  // Ends a worker as a signal or an exit does.
  void Crash(const std::string& name, int signal);
  void Exit(const std::string& name, int code);
  // Cuts every channel; the workers live.
  void CutChannels();

  FakeWorker* Find(const std::string& name);
  std::vector<std::string> Names() const;
  FakeProcessLauncher& launcher() { return launcher_; }

  WorkerBehaviour behaviour;
  uint32_t connects = 0;
  uint32_t assigns = 0;
  uint32_t probes = 0;

 private:
  friend class FakeWorkerClient;
  FakeWorker* WithChannel(uint64_t client);

  FakeProcessLauncher launcher_;
  std::map<std::string, std::unique_ptr<FakeWorker>> workers_;
  std::set<class FakeWorkerClient*> clients_;
  std::set<uint64_t> cut_;
  uint64_t last_client_ = 0;
  bool launched_ = false;
};

}  // namespace cohost::supervisor
