// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "boost/asio/io_context.hpp"
#include "boost/asio/thread_pool.hpp"
#include "supervisor/admin/admin_server.h"
#include "supervisor/deployer/deployer.h"
#include "supervisor/event_log.h"
#include "supervisor/host_gateway.h"
#include "supervisor/listen/listener_set.h"
#include "supervisor/loop/asio_timers.h"
#include "supervisor/memory_meter.h"
#include "supervisor/metrics/metrics_server.h"
#include "supervisor/modules/module_store.h"
#include "supervisor/modules/precompile/launcher_process_runner.h"
#include "supervisor/pool/generation/grpc_worker_client.h"
#include "supervisor/pool/pool.h"
#include "supervisor/pool/sample_workers.h"
#include "supervisor/process/keeper_client.h"
#include "supervisor/snapshot_builder.h"
#include "supervisor/state/state.h"
#include "supervisor/unshared_meter.h"

namespace cohost::supervisor {

struct SupervisorOptions {
  std::string version;
  std::string deployment_file;  // absolute
  LoadOptions load_options;
  std::string worker_program;  // absolute path of cohost-worker
  // At a shutdown, for all workers together.
  absl::Duration drain_limit = absl::Seconds(60);
  // Descriptor of the keeper's socket.
  int keeper_socket = kKeeperSocket;
};

// The whole supervisor: its parts, made in the order of a start and ended in the opposite one, and
// what operators can ask of them. Everything runs on the loop thread, which is the one that calls
// Run. Ends without ending any worker: they are the keeper's.
class Supervisor final : public PoolObserver, public HostOperations {
 public:
  explicit Supervisor(SupervisorOptions options);
  ~Supervisor() override;
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Starts, serves until the keeper asks to end (or is gone) and gives the exit code of the
  // process: 0 ended as asked, 1 the deployment or the call is wrong (said on standard error), 2
  // the system failed.
  int Run();

 private:
  // Each says on standard error what is wrong and gives the exit code, 0 when nothing is.
  int Start();
  int Connect();
  // What the supervisor before this one had in force: a restart reads no file, which somebody may
  // be editing just now. Nothing when there was none, or when it cannot be in force any more.
  std::optional<Deployment> LastDeployment();
  int OpenFolders();
  int TakeLock();
  int TakeLock(const std::string& folder, const char* name);
  int OpenState();
  int PutInForce(FirstDeployment first);
  int OpenEndpoints();

  void BeginShutdown();
  void ReloadFromSignal();
  void ReportReadyOnce();
  HostSnapshot Processes();
  // After a change of the deployment: who uses which module, and what nobody uses any more.
  void RefreshModules();
  void ListModules();
  void CollectModules();
  std::function<void(absl::StatusOr<DeployOutcome>)> AfterChange(
      std::function<void(absl::StatusOr<DeployOutcome>)> done);
  const Listener* FindListener(const Address& address, const char* name) const;

  // PoolObserver
  void OnPoolEvent(const PoolEvent& event) override;
  void OnPoolChanged() override;

  // HostOperations
  std::shared_ptr<const HostSnapshot> BuildSnapshot() override;
  void Reload(const Caller& caller, ChangeAction action,
              std::function<void(absl::StatusOr<ReloadOutcome>)> done) override;
  void Recycle(const Caller& caller, const std::string& group, std::optional<uint32_t> slot,
               std::function<void(absl::StatusOr<RecycleOutcome>)> done) override;
  void StopService(const Caller& caller, const std::string& name,
                   std::function<void(absl::StatusOr<uint64_t>)> done) override;
  void StartService(const Caller& caller, const std::string& name,
                    std::function<void(absl::StatusOr<uint64_t>)> done) override;
  void Deploy(const Caller& caller, DeployRequest request,
              std::function<void(absl::StatusOr<DeployOutcome>)> done) override;
  void Rollback(const Caller& caller, RollbackRequest request,
                std::function<void(absl::StatusOr<DeployOutcome>)> done) override;
  void ReadHistory(const std::string& service, uint32_t limit,
                   std::function<void(absl::StatusOr<HistoryView>)> done) override;
  void ExportDeployment(std::function<void(absl::StatusOr<DeploymentExport>)> done) override;
  void MaintainStore(const Caller& caller, bool check, bool collect,
                     std::function<void(absl::StatusOr<StoreOutcome>)> done) override;
  void Plan(std::string text, std::string file_name,
            std::function<void(absl::StatusOr<PlanOutcome>)> done) override;
  void Validate(std::string text, std::string file_name,
                std::function<void(std::vector<ConfigProblem>, uint32_t)> done) override;
  void MeasureMemory(
      MemoryDepth depth,
      std::function<void(absl::StatusOr<std::shared_ptr<const HostSnapshot>>)> done) override;
  void MeasureUnshared(const Caller& caller, uint32_t samples,
                       std::function<void(absl::StatusOr<UnsharedMemory>)> done) override;
  void Record(HostEvent event) override;
  void ReadEvents(uint64_t after_id, uint32_t last, uint32_t limit,
                  std::function<void(absl::StatusOr<std::vector<HostEvent>>)> done) override;
  uint64_t SubscribeEvents(std::function<void(const HostEvent&)> event) override;
  void UnsubscribeEvents(uint64_t subscription) override;

  // Set in the constructor, never changed.
  const SupervisorOptions options_;
  const bool as_root_;
  const absl::Time started_;
  Log log_;
  // Loop thread only, in the order of a start.
  boost::asio::io_context loop_;
  boost::asio::thread_pool disk_{1};
  // For changes of the deployment, which may wait for compilers: nobody else does meanwhile.
  boost::asio::thread_pool publishing_{1};
  AsioTimers timers_;
  std::unique_ptr<KeeperClient> keeper_;
  Inheritance inheritance_;
  Host host_;
  std::unique_ptr<State> state_;
  StateSnapshot kept_;
  std::unique_ptr<EventLog> events_;
  std::unique_ptr<ModuleStore> store_;
  std::unique_ptr<ListenerSet> listeners_;
  GrpcWorkerClientFactory clients_;
  std::unique_ptr<Pool> pool_;
  std::unique_ptr<SampleWorkers> samples_;
  std::unique_ptr<LauncherProcessRunner> programs_;
  std::unique_ptr<ApplicationCompiler> compiler_;
  std::unique_ptr<Deployer> deployer_;
  std::vector<ListedFile> modules_;
  std::unique_ptr<MemoryMeter> meter_;
  std::unique_ptr<UnsharedMeter> unshared_;
  std::unique_ptr<HostGateway> gateway_;
  std::unique_ptr<AdminServer> admin_;
  std::unique_ptr<MetricsServer> metrics_;
  Timer endpoints_timer_;
  Timer settle_timer_;
  Timer store_timer_;
  Timer rollout_timer_;
  // Since the keeper's start, once every service was ready or failed.
  std::optional<absl::Duration> ready_after_;
  bool ready_reported_ = false;
  bool shutting_down_ = false;
  int exit_code_ = 0;
};

}  // namespace cohost::supervisor
