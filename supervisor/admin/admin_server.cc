// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/admin_server.h"

#include <chrono>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/server_posix.h"
#include "supervisor/admin/acceptor.h"
#include "supervisor/admin/admin_service.h"
#include "supervisor/admin/health_service.h"
#include "supervisor/admin/peer_registry.h"
#include "supervisor/admin/stream/stream_poller.h"

namespace cohost::supervisor {
namespace {

// A deployment file of ten thousand services is 3 MiB.
constexpr int kLargestMessage = 16 << 20;
// Of one connection; cohostctl needs one, a dashboard a few.
constexpr int kStreamsPerConnection = 64;
// What gRPC may hold for all connections together: a few of the largest messages.
constexpr size_t kMemoryQuota = 128 << 20;
// Calls get so long to end by themselves before they are cancelled.
constexpr auto kGrace = std::chrono::milliseconds(100);

}  // namespace

// What the shutdown needs. When gRPC does not come to an end, the thread that waits for it keeps
// all of this alive.
class AdminServer::Parts {
 public:
  Parts(HostControl& host, const AdminServerOptions& options)
      : service_(host, peers_, poller_, SystemClock(), options.version, options.dumps_folder),
        health_(host, poller_) {}

  absl::Status StartServer() {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(kLargestMessage);
    builder.SetMaxSendMessageSize(kLargestMessage);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
    grpc::ResourceQuota quota("admin");
    quota.Resize(kMemoryQuota);
    builder.SetResourceQuota(quota);
    builder.RegisterService(&service_);
    builder.RegisterService(&health_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::InternalError("gRPC did not start the admin server");
    return absl::OkStatus();
  }

  void AddConnection(UniqueFd connection, uid_t uid) {
    peers_.Add(connection.get(), uid);
    grpc::AddInsecureChannelFromFd(server_.get(), connection.Release());
  }
  void ForgetConnection(int fd) { peers_.Remove(fd); }

  // Blocks until gRPC is done, however long that takes.
  void ShutDown() {
    server_->Shutdown(std::chrono::system_clock::now() + kGrace);
    MutexLock lock(mutex_);
    shut_down_ = true;
    changed_.NotifyAll();
  }

  bool WaitUntilShutDown(std::chrono::steady_clock::time_point deadline) {
    MutexLock lock(mutex_);
    while (!shut_down_) {
      if (!changed_.WaitUntil(mutex_, deadline)) return shut_down_;
    }
    return true;
  }

  // Loop thread only; null once stopped.
  std::unique_ptr<AdminAcceptor> acceptor;

 private:
  PeerRegistry peers_;
  StreamPoller poller_;
  AdminService service_;
  HealthService health_;
  // Ends before what its calls use.
  std::unique_ptr<grpc::Server> server_;

  Mutex mutex_;
  CondVar changed_;
  bool shut_down_ ABSL_GUARDED_BY(mutex_) = false;
};

AdminServer::AdminServer(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(HostControl& host,
                                                                boost::asio::io_context& loop,
                                                                UniqueFd listener,
                                                                AdminServerOptions options) {
  auto parts = std::make_shared<Parts>(host, options);
  AdminAcceptor::Options accepting;
  accepting.allowed_uids = std::move(options.allowed_uids);
  accepting.max_connections = options.max_connections;
  // The acceptor is a part: it never outlives them.
  accepting.on_connection = [parts = parts.get()](UniqueFd connection, uid_t uid) {
    parts->AddConnection(std::move(connection), uid);
  };
  accepting.on_end = [parts = parts.get()](int fd) { parts->ForgetConnection(fd); };
  accepting.on_problem = std::move(options.on_problem);
  absl::Status started = parts->StartServer();
  if (!started.ok()) return started;
  auto acceptor = AdminAcceptor::Start(loop, std::move(listener), std::move(accepting));
  std::unique_ptr<AdminServer> server(new AdminServer(parts));
  if (!acceptor.ok()) return acceptor.status();
  parts->acceptor = *std::move(acceptor);
  return server;
}

AdminServer::~AdminServer() {
  // Ignoring the status: a thread that is stuck was left behind, and there is nobody to tell.
  (void)Stop(absl::Seconds(5));
}

absl::Status AdminServer::Stop(absl::Duration limit) {
  if (parts_ == nullptr) return absl::OkStatus();
  const std::shared_ptr<Parts> parts = std::move(parts_);
  parts_ = nullptr;
  parts->acceptor = nullptr;
  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(limit);
  // gRPC's Shutdown returns when the last call is done, which its deadline does not promise
  // (RPC-01). So another thread waits for that, and this one for the other or the clock.
  std::thread waiter([parts] { parts->ShutDown(); });
  if (parts->WaitUntilShutDown(deadline)) {
    waiter.join();
    return absl::OkStatus();
  }
  waiter.detach();
  return absl::DeadlineExceededError("the admin server's calls did not end in time");
}

uint64_t AdminServer::accept_errors() const {
  return parts_ == nullptr || parts_->acceptor == nullptr ? 0 : parts_->acceptor->accept_errors();
}

}  // namespace cohost::supervisor
