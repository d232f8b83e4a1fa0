// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/admin.grpc.pb.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_process.h"

namespace cohost::testing {

// A whole Cohost: the real keeper with the real supervisor and workers, on a deployment of the
// test's, in a temporary folder. The destructor ends all of it.
class TestHost {
 public:
  struct Options {
    // `groups:`, `grouping:` and `services:`; version, host and the user of workers are added.
    // Write ports as 0, and modules as ${NAME} for //tests/services:NAME.
    std::string deployment;
    std::vector<std::string> arguments;    // of cohostd
    std::vector<std::string> environment;  // of cohostd
    // What starts cohostd, before its path: {"/bin/sh", "-c", "ulimit -n 64; exec \"$@\"", "sh"}.
    std::vector<std::string> wrapper{};
    // Number in cohostd and descriptor here, besides 0 to 2 and 9.
    std::vector<std::pair<int, int>> descriptors{};
    // Further keys of host: "dotnet: {precompile: off}".
    std::string host{};
    // As of SetSigningKeys, for the start.
    std::map<std::string, std::string> signing_keys{};
    // Instead of the built one.
    std::string worker{};
  };

  // Waits until the host has said that it is ready. The error of a host that ended instead has what
  // it printed.
  static absl::StatusOr<std::unique_ptr<TestHost>> Start(Options options);
  // The same; ends the program when the host cannot be started: no test can go on then.
  static std::unique_ptr<TestHost> StartOrDie(Options options);
  ~TestHost();

  // Port of a service's first listener.
  uint16_t Port(const std::string& service) const;
  const std::map<std::string, std::vector<std::string>>& addresses() const { return addresses_; }
  const std::string& admin_socket() const { return admin_socket_; }
  std::string metrics_address() const { return metrics_address_; }
  // The body of GET /metrics.
  std::string Metrics() const;

  TestProcess& keeper() { return *keeper_; }
  TemporaryFolder& folder() { return *folder_; }
  std::string deployment_file() const { return *folder_ / "cohost.yaml"; }
  // What keeper and supervisor have printed.
  std::string Log() const;

  // Replaces the deployment file; the text is as in Options.
  void WriteDeployment(const std::string& deployment);
  // host.signing_keys of what WriteDeployment writes from now on: paths by name.
  void SetSigningKeys(std::map<std::string, std::string> keys) { signing_keys_ = std::move(keys); }
  absl::StatusOr<admin::v1::ReloadResponse> Reload();
  // Every slot of the group, or one; waits until the replacements serve.
  absl::StatusOr<admin::v1::RecycleResponse> Recycle(const std::string& group,
                                                     std::optional<uint32_t> slot = {}) const;
  // Those that are kept, oldest first.
  std::vector<admin::v1::Event> Events() const;

  // Admin calls with a deadline. A call that fails because the supervisor is just being replaced is
  // made again.
  absl::StatusOr<admin::v1::Status> Status() const;
  std::vector<admin::v1::Worker> Workers(const std::string& group = "") const;
  std::vector<admin::v1::Service> Services() const;
  absl::StatusOr<admin::v1::Service> Service(const std::string& name) const;
  std::unique_ptr<admin::v1::Admin::Stub> Connect() const;
  // 0 while there is none.
  pid_t SupervisorPid() const;
  // Of workers that are ready, by "group/slot".
  std::map<std::string, pid_t> WorkerPids() const;
  // Until every service that is not stopped is ready everywhere.
  bool WaitUntilReady(absl::Duration limit = kPatience) const;

  // SIGTERM to the keeper; how it ended.
  std::optional<TestProcess::Ended> Stop(absl::Duration limit = kPatience);

 private:
  TestHost() = default;
  absl::Status Launch(const Options& options);
  absl::Status ReadReadyLine(int pipe);

  std::unique_ptr<TemporaryFolder> folder_;
  std::string host_;
  std::map<std::string, std::string> signing_keys_;
  std::unique_ptr<TestProcess> keeper_;
  std::map<std::string, std::vector<std::string>> addresses_;
  std::string admin_socket_;
  std::string metrics_address_;
};

}  // namespace cohost::testing
