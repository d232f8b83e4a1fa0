// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/admin_server.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "gmock/gmock.h"
#include "grpcpp/create_channel_posix.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "proto/admin.grpc.pb.h"
#include "proto/health.grpc.pb.h"
#include "tests/supervisor/admin/admin_fixture.h"
#include "tests/supervisor/admin/unix_socket.h"
#include "tests/support/temporary_folder.h"

namespace cohost::supervisor {
namespace {

namespace v1 = admin::v1;
using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

class AdminServerTest : public AdminFixture {
 protected:
  grpc::Status GetStatus(const std::shared_ptr<grpc::Channel>& channel) {
    v1::Status status;
    return v1::Admin::NewStub(channel)->GetStatus(Context().get(), {}, &status);
  }

  int ConnectAs(uid_t uid) {
    EXPECT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
    EXPECT_EQ(::chmod(socket_path().c_str(), 0666), 0);
    std::string program = "tests/supervisor/admin/connect_as";
    std::string number = std::to_string(uid);
    std::string path = socket_path();
    char* arguments[] = {program.data(), number.data(), path.data(), nullptr};
    pid_t child = 0;
    EXPECT_EQ(::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), 0);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

constexpr int kAdmitted = 10;
constexpr int kClosed = 11;

TEST_F(AdminServerTest, TheSupervisorsOwnUserIsAdmitted) {
  StartServer();
  EXPECT_EQ(ConnectAs(::getuid()), kAdmitted);
}

// As another user than root nobody else can be tried.
TEST_F(AdminServerTest, AnotherUserIsClosedAtOnceAndReported) {
  StartServer();
  const uid_t other = ::getuid() == 0 ? 65534 : ::getuid();
  EXPECT_EQ(ConnectAs(other), other == ::getuid() ? kAdmitted : kClosed);
  if (other != ::getuid()) {
    EXPECT_TRUE(WaitForProblem("uid 65534"));
  }
  EXPECT_TRUE(GetStatus(Connect()).ok());
}

TEST_F(AdminServerTest, AnAllowedUserIsAdmitted) {
  const uid_t other = ::getuid() == 0 ? 65534 : ::getuid();
  AdminServerOptions options;
  options.allowed_uids = {other};
  StartServer(std::move(options));
  EXPECT_EQ(ConnectAs(other), kAdmitted);
}

TEST_F(AdminServerTest, ConnectionsAboveTheLimitAreClosedAndRoomComesBack) {
  AdminServerOptions options;
  options.max_connections = 2;
  StartServer(std::move(options));
  auto first = Connect();
  const auto second = Connect();
  EXPECT_TRUE(GetStatus(first).ok());
  EXPECT_TRUE(GetStatus(second).ok());
  EXPECT_EQ(GetStatus(Connect()).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(WaitForProblem("2 are open"));
  first = nullptr;
  // The loop hears of the end some time after the close.
  const auto deadline = steady_clock::now() + std::chrono::seconds(10);
  while (!GetStatus(Connect()).ok()) ASSERT_LT(steady_clock::now(), deadline);
}

TEST_F(AdminServerTest, HundredsOfConnectionsOneAfterTheOther) {
  StartServer();
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(GetStatus(Connect()).ok()) << i;
}

TEST_F(AdminServerTest, ABlockingListenerIsRefusedAndItsFlagsAreLeftAlone) {
  UniqueFd listener = testing::ListenOn(folder_.path() + "/blocking.sock");
  ASSERT_EQ(::fcntl(listener.get(), F_SETFL, 0), 0);
  const UniqueFd holder(::fcntl(listener.get(), F_DUPFD_CLOEXEC, 0));
  boost::asio::io_context loop;
  const auto server = AdminServer::Start(host_, loop, std::move(listener), {});
  EXPECT_EQ(server.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(::fcntl(holder.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(AdminServerTest, Sok04OutOfDescriptorsItPausesTellsOnceAndRecovers) {
  StartServer();
  ASSERT_TRUE(GetStatus(Connect()).ok());
  UniqueFd client = testing::UnixSocket();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 3;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto start = steady_clock::now();
  ASSERT_TRUE(testing::ConnectTo(client, socket_path()));
  EXPECT_TRUE(WaitForProblem("accept"));
  while (AcceptErrors() < 3) ASSERT_LT(steady_clock::now(), start + std::chrono::seconds(20));
  // Two pauses lie between three errors; a loop that spins has a thousand in that time.
  EXPECT_GE(steady_clock::now() - start, std::chrono::milliseconds(400));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(GetStatus(Connect()).ok());
  EXPECT_EQ(Problems().size(), 1u);
}

TEST_F(AdminServerTest, Rpc01StopsWhileStreamsAreNotReadAndAnAnswerNeverComes) {
  StartServer();
  host_.Hang();
  const auto channel = Connect();
  const auto stub = v1::Admin::NewStub(channel);
  v1::WatchEventsRequest watch;
  watch.set_follow(true);
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::Event>>> readers;
  for (int i = 0; i < 5; ++i) {
    contexts.push_back(Context());
    readers.push_back(stub->WatchEvents(contexts.back().get(), watch));
    readers.back()->WaitForInitialMetadata();
  }
  HostEvent event;
  event.message = std::string(100'000, 'x');
  for (int i = 0; i < 50; ++i) host_.Emit(event);
  grpc::Status recycled;
  std::thread caller([&] {
    v1::RecycleRequest request;
    v1::RecycleResponse response;
    request.set_group("front");
    recycled = stub->Recycle(Context().get(), request, &response);
  });
  const auto deadline = steady_clock::now() + std::chrono::seconds(10);
  while (host_.calls().empty()) ASSERT_LT(steady_clock::now(), deadline);
  EXPECT_TRUE(StopServer(absl::Seconds(10)).ok());
  caller.join();
  EXPECT_FALSE(recycled.ok());
  v1::Event read;
  for (const auto& reader : readers) {
    while (reader->Read(&read)) {
    }
    EXPECT_FALSE(reader->Finish().ok());
  }
}

// A host whose memory is never measured: the call blocks gRPC's thread, which no host may do.
class StuckHost : public FakeHostControl {
 public:
  void MeasureMemory(
      MemoryDepth,
      std::function<void(absl::StatusOr<std::shared_ptr<const HostSnapshot>>)>) override {
    entered.set_value();
    release.get_future().wait();
  }
  std::promise<void> entered;
  std::promise<void> release;
};

TEST(AdminServer, Rpc01AStuckHandlerIsLeftBehindInTime) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/admin.sock";
  // Outlives the test: the handler's thread still uses it.
  auto* host = new StuckHost;
  boost::asio::io_context loop;
  auto server = AdminServer::Start(*host, loop, testing::ListenOn(path), {});
  ASSERT_TRUE(server.ok());
  UniqueFd fd = testing::UnixSocket();
  ASSERT_TRUE(testing::ConnectTo(fd, path));
  const auto channel = grpc::CreateInsecureChannelFromFd("admin", fd.Release());
  std::thread caller([&] {
    v1::Memory memory;
    const grpc::Status status =
        v1::Admin::NewStub(channel)->GetMemory(Context().get(), {}, &memory);
    EXPECT_FALSE(status.ok());
  });
  auto entered = host->entered.get_future();
  while (entered.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    loop.run_one_for(std::chrono::milliseconds(10));
  }
  const auto start = steady_clock::now();
  EXPECT_EQ((*server)->Stop(absl::Milliseconds(500)).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(5));
  host->release.set_value();
  caller.join();
}

TEST_F(AdminServerTest, HealthOfTheHostAndOfEachService) {
  StartServer();
  const auto stub = Health::NewStub(Connect());
  const auto check = [&](const std::string& name, HealthCheckResponse* response) {
    HealthCheckRequest request;
    request.set_service(name);
    return stub->Check(Context().get(), request, response).error_code();
  };
  HealthCheckResponse response;
  EXPECT_EQ(check("", &response), grpc::StatusCode::OK);
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING) << "invoices has failed";
  EXPECT_EQ(check("catalog", &response), grpc::StatusCode::OK);
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  EXPECT_EQ(check("invoices", &response), grpc::StatusCode::OK);
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(check("nothing", &response), grpc::StatusCode::NOT_FOUND);
}

TEST_F(AdminServerTest, HealthIsWatched) {
  StartServer();
  const auto stub = Health::NewStub(Connect());
  HealthCheckRequest request;
  request.set_service("newcomer");
  auto context = Context();
  auto reader = stub->Watch(context.get(), request);
  HealthCheckResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  host_.Change([](HostSnapshot& host) { host.services[0].name = "newcomer"; });
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  host_.Change([](HostSnapshot& host) { host.services[0].status = ServiceStatus::kFailed; });
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  context->TryCancel();
}

// Debian ships no reflection.proto; its answer to list_services has the names as plain text.
TEST_F(AdminServerTest, ReflectionNamesTheServices) {
  StartServer();
  grpc::GenericStub stub(Connect());
  const auto context = Context();
  grpc::CompletionQueue queue;
  auto call = stub.PrepareCall(
      context.get(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  const auto wait = [&] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  call->StartCall(nullptr);
  ASSERT_TRUE(wait());
  const grpc::Slice list_services("\x3a\x01*", 3);  // field 7, one character
  call->Write(grpc::ByteBuffer(&list_services, 1), nullptr);
  ASSERT_TRUE(wait());
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  ASSERT_TRUE(wait());
  grpc::Slice bytes;
  ASSERT_TRUE(answer.DumpToSingleSlice(&bytes).ok());
  const std::string text(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
  EXPECT_THAT(text, HasSubstr("cohost.admin.v1.Admin"));
  EXPECT_THAT(text, HasSubstr("grpc.health.v1.Health"));
  context->TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(queue.Next(&tag, &ok));
}

}  // namespace
}  // namespace cohost::supervisor
