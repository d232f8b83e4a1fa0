// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "supervisor/admin/admin_server.h"
#include "tests/fakes/host_control.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {

// An admin server with its loop thread on a socket in a fresh folder, over a fake host.
class AdminFixture : public ::testing::Test {
 protected:
  explicit AdminFixture(HostSnapshot snapshot = SampleHost());
  ~AdminFixture() override;

  void StartServer(AdminServerOptions options = {});
  // Stops on the loop thread, as the supervisor does.
  absl::Status StopServer(absl::Duration limit);
  // A new connection, its own channel.
  std::shared_ptr<grpc::Channel> Connect();
  uint64_t AcceptErrors();
  std::vector<std::string> Problems();
  // Waits until a problem with `part` in it was told, at most 10 s.
  bool WaitForProblem(std::string_view part);
  std::string socket_path() const { return folder_.path() + "/admin.sock"; }

  testing::TemporaryFolder folder_;
  FakeHostControl host_;

 private:
  class Loop;
  void OnLoop(const std::function<void()>& work);

  std::unique_ptr<Loop> loop_;
  std::unique_ptr<AdminServer> server_;
  Mutex mutex_;
  CondVar told_;
  std::vector<std::string> problems_ ABSL_GUARDED_BY(mutex_);
};

// A call's context with a deadline of 20 s: a test that waits longer has failed.
std::unique_ptr<grpc::ClientContext> Context();

}  // namespace cohost::supervisor
