// SPDX-License-Identifier: Apache-2.0
//
// A real cohost-worker over its link and WorkerControl, without keeper and supervisor.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "base/system/file.h"
#include "base/system/seqpacket.h"
#include "gtest/gtest.h"
#include "tests/support/http_client.h"
#include "tests/support/wait.h"
#include "tests/support/worker_peer.h"

namespace cohost::testing {
namespace {

using grpc::health::v1::HealthCheckResponse;
using worker::v1::AssignRequest;
using worker::v1::AssignResponse;

std::string ModulePath(const std::string& name) {
  return ProgramPath("tests/services/" + name + ".so");
}

AssignRequest Module(uint64_t id, const std::string& module, uint64_t token) {
  return NativeService(id, module + "-" + std::to_string(id), ModulePath(module), token);
}

void Set(AssignRequest& request, const std::string& key, const std::string& value) {
  v1::Setting* const setting = request.add_settings();
  setting->set_key(key);
  setting->set_value(value);
}

// A worker with a channel and listeners by their token, 1 and up.
class ReadyWorker {
 public:
  explicit ReadyWorker(const std::vector<std::string>& arguments = {}) : peer_(arguments) {
    const absl::Status status = peer_.OpenChannel();
    EXPECT_TRUE(status.ok()) << status << peer_.Log();
  }

  WorkerPeer& peer() { return peer_; }
  WorkerPeer* operator->() { return &peer_; }

  // Delivers the listener under `token` and assigns the service to it.
  void Serve(const AssignRequest& request, const LoopbackListener& listener) {
    const absl::Status given =
        peer_.GiveListener(request.endpoints(0).listener_token(), listener.socket.get());
    ASSERT_TRUE(given.ok()) << given;
    const absl::StatusOr<AssignResponse> response = peer_.Assign(request);
    ASSERT_TRUE(response.ok()) << response.status() << peer_.Log();
    ASSERT_EQ(response->state(), v1::SERVICE_STATE_READY) << response->reason();
  }

 private:
  WorkerPeer peer_;
};

// The body of 200, else what went wrong.
std::string Fetch(HttpClient& client, const std::string& target = "/") {
  const absl::StatusOr<HttpAnswer> answer = client.Get(target);
  if (!answer.ok()) return answer.status().ToString();
  return answer->status == 200 ? answer->body : answer->head;
}

std::string FetchOnce(uint16_t port, const std::string& target = "/") {
  absl::StatusOr<HttpClient> client = HttpClient::Connect(port);
  return client.ok() ? Fetch(*client, target) : client.status().ToString();
}

// ECHO answers with its process.
bool IsFrom(const std::string& answer, WorkerPeer& peer) {
  return answer.rfind(std::to_string(peer.process().pid()) + " ", 0) == 0;
}

size_t DescriptorCount(pid_t pid) {
  size_t count = 0;
  DIR* const folder = ::opendir(("/proc/" + std::to_string(pid) + "/fd").c_str());
  while (folder != nullptr && ::readdir(folder) != nullptr) ++count;
  if (folder != nullptr) (void)::closedir(folder);
  return count;
}

TEST(Worker, TellsItsStateAndServesWhatItIsAssigned) {
  ReadyWorker worker;
  absl::StatusOr<LinkMessage> state = worker->Hello();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_FALSE(state->draining);
  EXPECT_EQ(state->binary_id.size(), 32U);
  EXPECT_TRUE(state->services.empty());
  EXPECT_EQ(worker->segment().header.pid, static_cast<uint32_t>(worker->process().pid()));

  const LoopbackListener listener = ListenOnLoopback();
  AssignRequest request = Module(5, "echo", /*token=*/1);
  request.add_warmup("/a");
  request.add_warmup("/b");
  request.set_health_path("/healthz");
  ASSERT_TRUE(worker->GiveListener(1, listener.socket.get()).ok());
  const absl::StatusOr<AssignResponse> response = worker->Assign(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->state(), v1::SERVICE_STATE_READY) << response->reason();
  EXPECT_EQ(response->warmup_requests(), 2U);
  EXPECT_EQ(response->service_id(), 5U);
  EXPECT_TRUE(IsFrom(FetchOnce(listener.port), worker.peer()));

  const ServiceRow& row = worker->segment().rows[response->row()];
  EXPECT_EQ(row.service_id.load(), 5U);
  EXPECT_EQ(row.state.load(), static_cast<uint32_t>(RowState::kReady));
  // Two of warm-up, one of the probe, one of the client, which may have its answer before it
  // counts.
  EXPECT_TRUE(Eventually([&row] { return row.stripes[0].answered[2].load() == 4; }));
  EXPECT_EQ(row.stripes[0].connections.load(), 1U);

  state = worker->Hello();
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->listener_tokens, std::vector<uint64_t>{1});
  ASSERT_EQ(state->services.size(), 1U);
  EXPECT_EQ(state->services[0].service_id, 5U);
  EXPECT_EQ(state->services[0].state, static_cast<uint32_t>(RowState::kReady));
  EXPECT_TRUE(worker->Await(LinkType::kServiceState).ok());
  EXPECT_EQ(worker->Check("echo-5").value(), HealthCheckResponse::SERVING);
  EXPECT_EQ(worker->Check("").value(), HealthCheckResponse::SERVING);
  EXPECT_TRUE(absl::IsNotFound(worker->Check("nobody").status()));
}

TEST(Worker, OneServiceThatCannotStartLeavesItsNeighboursAlone) {
  ReadyWorker worker;
  const LoopbackListener listener = ListenOnLoopback();
  const LoopbackListener other = ListenOnLoopback();
  worker.Serve(Module(1, "echo", 1), listener);
  ASSERT_TRUE(worker->GiveListener(2, other.socket.get()).ok());
  const auto expect_failed = [&](const AssignRequest& request, const std::string& reason) {
    const absl::StatusOr<AssignResponse> response = worker->Assign(request);
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->state(), v1::SERVICE_STATE_FAILED) << request.name();
    EXPECT_NE(response->reason().find(reason), std::string::npos) << response->reason();
    EXPECT_EQ(worker->segment().rows[response->row()].state.load(),
              static_cast<uint32_t>(RowState::kFailed));
    EXPECT_EQ(worker->Check(request.name()).value(), HealthCheckResponse::NOT_SERVING);
    EXPECT_TRUE(IsFrom(FetchOnce(listener.port), worker.peer()));
  };
  expect_failed(Module(2, "missing_symbol", 2), "cohost_fixture_that_is_nowhere");
  expect_failed(NativeService(3, "absent", "/nowhere/absent.so", 2), "/nowhere/absent.so");
  AssignRequest warm = Module(4, "sick", 2);
  warm.add_warmup("/fail");
  expect_failed(warm, "warm-up GET /fail answered 500");
  AssignRequest bad = Module(5, "sick", 2);
  Set(bad, "health", "bad");
  expect_failed(bad, "out of pills");
  AssignRequest path = Module(6, "sick", 2);
  path.set_health_path("/fail");
  expect_failed(path, "GET /fail answered 500");
  expect_failed(Module(7, "echo", /*token=*/99), "was not delivered");
  AssignRequest none = Module(8, "echo", 2);
  none.set_runtime(v1::RUNTIME_UNSPECIFIED);
  expect_failed(none, "RUNTIME_UNSPECIFIED");
}

// The worker's allocator is its own (jemalloc), and libc's functions give memory of it.
TEST(Worker, MOD_05_MemoryThatLibcGaveAModuleIsFreedByTheSameAllocator) {
  ReadyWorker worker;
  const LoopbackListener listener = ListenOnLoopback();
  worker.Serve(Module(1, "libc_memory", 1), listener);
  absl::StatusOr<HttpClient> client = HttpClient::Connect(listener.port);
  ASSERT_TRUE(client.ok()) << client.status();
  for (int i = 0; i < 500; ++i) ASSERT_EQ(Fetch(*client), "same\n") << worker->Log();
}

TEST(Worker, AssigningTwiceIsAssigningOnce) {
  ReadyWorker worker;
  const LoopbackListener listener = ListenOnLoopback();
  AssignRequest request = Module(1, "echo", 1);
  worker.Serve(request, listener);
  const absl::StatusOr<AssignResponse> again = worker->Assign(request);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->state(), v1::SERVICE_STATE_READY);
  EXPECT_EQ(again->row(), 0U);
  request.set_revision(2);
  EXPECT_TRUE(absl::IsFailedPrecondition(worker->Assign(request).status()));
  request.set_service_id(0);
  EXPECT_TRUE(absl::IsInvalidArgument(worker->Assign(request).status()));
  EXPECT_TRUE(IsFrom(FetchOnce(listener.port), worker.peer()));
}

TEST(Worker, ANextSupervisorFindsEverythingAndBringsItsOwnChannel) {
  ReadyWorker worker;
  const LoopbackListener listener = ListenOnLoopback();
  const AssignRequest request = Module(1, "echo", 1);
  worker.Serve(request, listener);
  // The former channel's other end is closed by the new stubs.
  for (int supervisor = 0; supervisor < 3; ++supervisor) {
    const absl::StatusOr<LinkMessage> state = worker->Hello();
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(state->listener_tokens, std::vector<uint64_t>{1});
    ASSERT_EQ(state->services.size(), 1U);
    EXPECT_EQ(state->services[0].revision, 1U);
    EXPECT_TRUE(worker->GiveListener(1, listener.socket.get()).ok());
    ASSERT_TRUE(worker->OpenChannel().ok());
    EXPECT_EQ(worker->Check("").value(), HealthCheckResponse::SERVING);
    EXPECT_EQ(worker->Assign(request)->state(), v1::SERVICE_STATE_READY);
  }
}

TEST(Worker, AReleasedListenerIsNoLongerAcceptedFrom) {
  ReadyWorker worker;
  LoopbackListener listener = ListenOnLoopback();
  worker.Serve(Module(1, "echo", 1), listener);
  LinkMessage release;
  release.type = LinkType::kReleaseListener;
  release.token = 1;
  release.sequence = 1000;
  ASSERT_TRUE(worker->Send(release).ok());
  const absl::StatusOr<LinkMessage> ack = worker->Await(LinkType::kAck);
  ASSERT_TRUE(ack.ok()) << ack.status();
  EXPECT_EQ(ack->code, 0);
  EXPECT_TRUE(worker->Hello()->listener_tokens.empty());
  // Only this process holds the listener now: closed, it refuses.
  listener.socket.Reset();
  EXPECT_TRUE(Eventually([&listener] { return !HttpClient::Connect(listener.port).ok(); }));
}

TEST(Worker, ARemovedServiceCanBeAssignedAgain) {
  ReadyWorker worker;
  const LoopbackListener listener = ListenOnLoopback();
  const LoopbackListener other = ListenOnLoopback();
  worker.Serve(Module(1, "echo", 1), listener);
  worker.Serve(Module(2, "echo", 2), other);
  for (uint32_t round = 0; round < 3; ++round) {
    const auto removed = worker->Remove(1, absl::Seconds(5));
    ASSERT_TRUE(removed.ok()) << removed.status();
    EXPECT_EQ(removed->cancelled(), 0U);
    EXPECT_TRUE(absl::IsNotFound(worker->Remove(1, absl::Seconds(5)).status()));
    EXPECT_TRUE(IsFrom(FetchOnce(other.port), worker.peer()));
    // Waits in the listener's queue until the service is there again.
    absl::StatusOr<HttpClient> early = HttpClient::Connect(listener.port);
    ASSERT_TRUE(early.ok()) << early.status();
    const absl::StatusOr<AssignResponse> response = worker->Assign(Module(1, "echo", 1));
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->state(), v1::SERVICE_STATE_READY) << response->reason();
    EXPECT_EQ(response->row(), 2 + round) << "a row is not used twice";
    EXPECT_TRUE(IsFrom(Fetch(*early), worker.peer()));
  }
}

TEST(Worker, AModuleThatExitsWhileLoadingIsTheLastThatItsLogNames) {
  ReadyWorker worker;
  const LoopbackListener listener = ListenOnLoopback();
  ASSERT_TRUE(worker->GiveListener(1, listener.socket.get()).ok());
  EXPECT_TRUE(absl::IsUnavailable(worker->Assign(Module(1, "constructor_exits", 1)).status()));
  const auto ended = worker->process().WaitUntilEnded();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 7);
  EXPECT_NE(worker->Log().find("constructor_exits-1"), std::string::npos);
}

TEST(Worker, ADrainLosesNoRequestThatWasInFlight) {
  ReadyWorker worker;
  const LoopbackListener listener = ListenOnLoopback();
  worker.Serve(Module(1, "slow", 1), listener);
  absl::StatusOr<HttpClient> busy = HttpClient::Connect(listener.port);
  absl::StatusOr<HttpClient> idle = HttpClient::Connect(listener.port);
  ASSERT_TRUE(busy.ok() && idle.ok());
  EXPECT_EQ(Fetch(*idle), "slow\n");
  ASSERT_TRUE(busy->Send("GET /?ms=500 HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  const ServiceRow& row = worker->segment().rows[0];
  ASSERT_TRUE(Eventually([&row] { return row.stripes[0].started.load() == 2; }));

  ASSERT_TRUE(worker->Drain(absl::Seconds(30)).ok());
  EXPECT_TRUE(worker->Drain(absl::Seconds(30)).ok()) << "a repeated message changes nothing";
  EXPECT_TRUE(idle->WaitUntilClosed());
  EXPECT_EQ(worker->Check("").value(), HealthCheckResponse::NOT_SERVING);
  EXPECT_TRUE(worker->Hello()->draining);
  EXPECT_TRUE(absl::IsFailedPrecondition(worker->Assign(Module(2, "echo", 1)).status()));
  const absl::StatusOr<HttpAnswer> answer = busy->Receive();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, "after 500 ms\n");
  EXPECT_TRUE(answer->closes()) << answer->head;
  ASSERT_TRUE(worker->Await(LinkType::kDrained).ok()) << worker->Log();
  // Nobody accepts, nobody refuses: the connection waits for the next worker.
  EXPECT_TRUE(HttpClient::Connect(listener.port).ok());
  EXPECT_TRUE(worker->Tell(LinkType::kStop).ok());
  const auto ended = worker->process().WaitUntilEnded();
  ASSERT_TRUE(ended.has_value()) << worker->Log();
  EXPECT_EQ(ended->exit_code, 0) << worker->Log();
}

TEST(Worker, AServiceThatWasAtItsConnectionLimitAcceptsAgain) {
  ReadyWorker worker;
  const LoopbackListener listener = ListenOnLoopback();
  AssignRequest request = Module(1, "echo", 1);
  cohost::v1::ServiceLimits& limits = *request.mutable_limits();
  limits.set_concurrency(8);
  limits.set_header_bytes(8192);
  limits.set_connections(2);
  worker.Serve(request, listener);
  for (int round = 0; round < 3; ++round) {
    std::vector<HttpClient> clients;
    for (int i = 0; i < 4; ++i) {
      absl::StatusOr<HttpClient> client = HttpClient::Connect(listener.port);
      ASSERT_TRUE(client.ok());
      ASSERT_TRUE(client->Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").ok());
      clients.push_back(*std::move(client));
    }
    // The last two wait in the kernel's queue for the first two to leave.
    for (HttpClient& client : clients) {
      const absl::StatusOr<HttpAnswer> answer = client.Receive();
      ASSERT_TRUE(answer.ok()) << round << ": " << answer.status();
      EXPECT_EQ(answer->status, 200);
      const HttpClient left = std::move(client);
    }
  }
}

TEST(Worker, ADrainCancelsWhatTakesLongerThanItsLimit) {
  ReadyWorker worker;
  const LoopbackListener listener = ListenOnLoopback();
  worker.Serve(Module(1, "slow", 1), listener);
  absl::StatusOr<HttpClient> client = HttpClient::Connect(listener.port);
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE(client->Send("GET /?ms=25000 HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  const ServiceRow& row = worker->segment().rows[0];
  ASSERT_TRUE(Eventually([&row] { return row.stripes[0].started.load() == 1; }));
  ASSERT_TRUE(worker->Drain(absl::Milliseconds(100)).ok());
  EXPECT_TRUE(worker->Await(LinkType::kDrained, absl::Seconds(8)).ok()) << worker->Log();
  EXPECT_TRUE(worker->Tell(LinkType::kStop).ok());
  EXPECT_TRUE(worker->process().WaitUntilEnded().has_value());
}

TEST(Worker, ASuccessorGoesOnWithIdleConnections) {
  ReadyWorker first;
  ReadyWorker second;
  const LoopbackListener listener = ListenOnLoopback();
  const AssignRequest request = Module(1, "echo", 1);
  first.Serve(request, listener);
  std::vector<HttpClient> clients;
  for (int i = 0; i < 50; ++i) {
    absl::StatusOr<HttpClient> client = HttpClient::Connect(listener.port);
    ASSERT_TRUE(client.ok());
    ASSERT_TRUE(IsFrom(Fetch(*client), first.peer()));
    clients.push_back(*std::move(client));
  }
  second.Serve(request, listener);
  {
    absl::StatusOr<SocketPair> pair = MakeSeqpacketPair();
    ASSERT_TRUE(pair.ok());
    ASSERT_TRUE(second->Tell(LinkType::kPredecessor, pair->second.get()).ok());
    ASSERT_TRUE(first->Tell(LinkType::kSuccessor, pair->first.get()).ok());
  }
  // Some ask while the connection is on its way.
  for (size_t i = 0; i < clients.size(); i += 2) {
    if (i == 10) {
      ASSERT_TRUE(first->Drain(absl::Seconds(30)).ok());
    }
    ASSERT_TRUE(clients[i].Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  }
  // By the first, which then closes, or by the second: as it comes.
  for (size_t i = 0; i < clients.size(); i += 2) {
    const absl::StatusOr<HttpAnswer> answer = clients[i].Receive();
    ASSERT_TRUE(answer.ok()) << "client " << i << ": " << answer.status();
    EXPECT_EQ(answer->status, 200);
  }
  ASSERT_TRUE(first->Await(LinkType::kDrained).ok()) << first->Log();
  ASSERT_TRUE(first->Tell(LinkType::kStop).ok());
  ASSERT_TRUE(first->process().WaitUntilEnded().has_value());
  for (size_t i = 1; i < clients.size(); i += 2) {
    EXPECT_TRUE(IsFrom(Fetch(clients[i]), second.peer())) << "client " << i;
  }
  EXPECT_TRUE(IsFrom(FetchOnce(listener.port), second.peer()));
}

// SOK-07
TEST(Worker, Sok07RefusesListenersBeyondItsDescriptorLimit) {
  ReadyWorker worker;
  const LoopbackListener listener = ListenOnLoopback();
  worker.Serve(Module(1, "echo", 1), listener);
  const pid_t pid = worker->process().pid();
  rlimit before{};
  ASSERT_EQ(::prlimit(pid, RLIMIT_NOFILE, nullptr, &before), 0);
  // Below the highest number in use: no further descriptor fits, what is open stays open.
  rlimit low = before;
  low.rlim_cur = 8;
  const size_t open = DescriptorCount(pid);
  ASSERT_EQ(::prlimit(pid, RLIMIT_NOFILE, &low, nullptr), 0);
  for (uint64_t token = 2; token < 10; ++token) {
    const absl::Status refused = worker->GiveListener(token, listener.socket.get());
    EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
    EXPECT_EQ(std::string(refused.message()), "descriptor limit");
  }
  EXPECT_EQ(DescriptorCount(pid), open);
  ASSERT_EQ(::prlimit(pid, RLIMIT_NOFILE, &before, nullptr), 0);
  EXPECT_TRUE(worker->GiveListener(2, listener.socket.get()).ok());
  EXPECT_TRUE(IsFrom(FetchOnce(listener.port), worker.peer()));
}

TEST(Worker, AnOrphanServesOnThenEnds) {
  ReadyWorker worker({"--orphan-time=1s"});
  const LoopbackListener listener = ListenOnLoopback();
  worker.Serve(Module(1, "echo", 1), listener);
  worker->CloseLink();
  EXPECT_TRUE(IsFrom(FetchOnce(listener.port), worker.peer()));
  const auto ended = worker->process().WaitUntilEnded();
  ASSERT_TRUE(ended.has_value()) << worker->Log();
  EXPECT_EQ(ended->exit_code, 0) << worker->Log();
}

TEST(Worker, AMalformedMessageOrphansIt) {
  ReadyWorker worker({"--orphan-time=10ms"});
  ASSERT_TRUE(worker->SendRaw("no link message").ok());
  const auto ended = worker->process().WaitUntilEnded();
  ASSERT_TRUE(ended.has_value()) << worker->Log();
  EXPECT_EQ(ended->exit_code, 0);
}

// PRC-07
TEST(Worker, Prc07TermEndsAnIdleWorkerAndATerminalsSignalsDoNot) {
  ReadyWorker worker;
  const LoopbackListener listener = ListenOnLoopback();
  worker.Serve(Module(1, "echo", 1), listener);
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGPIPE}) {
    ASSERT_TRUE(worker->process().Signal(signal));
  }
  EXPECT_TRUE(IsFrom(FetchOnce(listener.port), worker.peer()));
  const absl::Time begin = absl::Now();
  ASSERT_TRUE(worker->process().Signal(SIGTERM));
  const auto ended = worker->process().WaitUntilEnded();
  ASSERT_TRUE(ended.has_value()) << worker->Log();
  EXPECT_EQ(ended->exit_code, 0);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(1));
}

TEST(Worker, WritesOnIntoANewLogFile) {
  ReadyWorker worker;
  const TemporaryFolder folder;
  const absl::StatusOr<UniqueFd> file =
      OpenFile(folder / "new", O_CREAT | O_WRONLY | O_APPEND, 0600);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(worker->Tell(LinkType::kLogFile, file->get()).ok());
  const LoopbackListener listener = ListenOnLoopback();
  worker.Serve(Module(1, "echo", 1), listener);
  EXPECT_NE(ReadRegularFile(folder / "new", MiB(1))->find("service ready"), std::string::npos);
  EXPECT_EQ(worker->Log().find("service ready"), std::string::npos);
}

// RPC-01
TEST(Worker, Rpc01OpenStreamsDoNotKeepItFromEnding) {
  ReadyWorker worker;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<HealthCheckResponse>>> watches;
  std::vector<std::unique_ptr<grpc::ClientReader<worker::v1::StatisticsBatch>>> statistics;
  for (int i = 0; i < 5; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    watches.push_back(worker->health().Watch(contexts.back().get(), {}));
    watches.back()->WaitForInitialMetadata();
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    statistics.push_back(worker->control().Statistics(contexts.back().get(), {}));
    statistics.back()->WaitForInitialMetadata();
  }
  const absl::Time begin = absl::Now();
  ASSERT_TRUE(worker->Tell(LinkType::kStop).ok());
  const auto ended = worker->process().WaitUntilEnded();
  ASSERT_TRUE(ended.has_value()) << worker->Log();
  EXPECT_EQ(ended->exit_code, 0);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(2));
  for (auto& watch : watches) (void)watch->Finish();
  for (auto& stream : statistics) (void)stream->Finish();
}

TEST(Worker, EndsWithAServiceWhoseStopNeverReturns) {
  ReadyWorker worker;
  const LoopbackListener listener = ListenOnLoopback();
  worker.Serve(Module(1, "stubborn", 1), listener);
  ASSERT_TRUE(worker->Tell(LinkType::kStop).ok());
  const auto ended = worker->process().WaitUntilEnded();
  ASSERT_TRUE(ended.has_value()) << worker->Log();
  EXPECT_EQ(ended->exit_code, 0);
}

TEST(Worker, AProbeEndsThoughTheHealthCallbackHangs) {
  ReadyWorker worker;
  const LoopbackListener first = ListenOnLoopback();
  const LoopbackListener second = ListenOnLoopback();
  worker.Serve(Module(1, "echo", 1), first);
  AssignRequest sick = Module(2, "sick", 2);
  Set(sick, "health", "hang");
  sick.mutable_start_timeout()->set_nanos(300000000);
  ASSERT_TRUE(worker->GiveListener(2, second.socket.get()).ok());
  const absl::StatusOr<AssignResponse> failed = worker->Assign(sick);
  ASSERT_TRUE(failed.ok()) << failed.status();
  EXPECT_EQ(failed->state(), v1::SERVICE_STATE_FAILED);
  EXPECT_NE(failed->reason().find("has not returned"), std::string::npos) << failed->reason();
  const auto health = worker->Probe(absl::Seconds(5));
  ASSERT_TRUE(health.ok()) << health.status();
  ASSERT_EQ(health->services_size(), 2);
  EXPECT_TRUE(health->services(0).healthy()) << health->services(0).reason();
  EXPECT_FALSE(health->services(1).healthy());
  EXPECT_FALSE(health->services(1).reason().empty());
}

TEST(Worker, StatisticsComeAsOneBatchAnInterval) {
  ReadyWorker worker;
  const LoopbackListener listener = ListenOnLoopback();
  worker.Serve(Module(1, "slow", 1), listener);
  absl::StatusOr<HttpClient> client = HttpClient::Connect(listener.port);
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE(client->Send("GET /?ms=3000 HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  grpc::ClientContext context;
  worker::v1::StatisticsRequest request;
  request.mutable_interval()->set_nanos(100000000);
  const auto stream = worker->control().Statistics(&context, request);
  worker::v1::StatisticsBatch batch;
  int batches = 0;
  bool seen = false;
  while (!seen && batches < 30 && stream->Read(&batch)) {
    ++batches;
    ASSERT_EQ(batch.services_size(), 1);
    seen = batch.services(0).in_flight() == 1 && batch.services(0).connections() == 1 &&
           batch.services(0).has_oldest_request_age();
  }
  EXPECT_TRUE(seen) << batch.DebugString();
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST(Worker, WatchersSeeTheDrain) {
  ReadyWorker worker;
  grpc::ClientContext context;
  const auto stream = worker->health().Watch(&context, {});
  HealthCheckResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  ASSERT_TRUE(worker->Drain(absl::Seconds(1)).ok());
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  context.TryCancel();
  (void)stream->Finish();
}

// HLT-07
TEST(Worker, Hlt07ProgressExtendsAStartAndSilenceEndsIt) {
  ReadyWorker worker;
  const LoopbackListener first = ListenOnLoopback();
  const LoopbackListener second = ListenOnLoopback();
  AssignRequest steady = Module(1, "echo", 1);
  Set(steady, "start_ms", "2000");
  Set(steady, "progress_ms", "200");
  steady.mutable_start_timeout()->set_seconds(1);
  worker.Serve(steady, first);

  AssignRequest silent = Module(2, "echo", 2);
  Set(silent, "start_ms", "20000");
  Set(silent, "progress_ms", "200");
  Set(silent, "progress_until_ms", "600");
  silent.mutable_start_timeout()->set_seconds(1);
  ASSERT_TRUE(worker->GiveListener(2, second.socket.get()).ok());
  const absl::Time begin = absl::Now();
  const absl::StatusOr<AssignResponse> failed = worker->Assign(silent);
  ASSERT_TRUE(failed.ok()) << failed.status();
  EXPECT_EQ(failed->state(), v1::SERVICE_STATE_FAILED);
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(1500));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  EXPECT_TRUE(IsFrom(FetchOnce(first.port), worker.peer()));
}

// PRC-08
TEST(Worker, Prc08ChildrenInheritNoneOfItsDescriptors) {
  ReadyWorker worker;
  const LoopbackListener listener = ListenOnLoopback();
  worker.Serve(Module(1, "echo", 1), listener);
  absl::StatusOr<HttpClient> client = HttpClient::Connect(listener.port);
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE(IsFrom(Fetch(*client), worker.peer()));
  const std::string folder = "/proc/" + std::to_string(worker->process().pid()) + "/fdinfo";
  DIR* const descriptors = ::opendir(folder.c_str());
  ASSERT_NE(descriptors, nullptr);
  size_t checked = 0;
  while (const dirent* const entry = ::readdir(descriptors)) {
    const std::string name = entry->d_name;
    if (name[0] == '.' || std::stoi(name) <= 2) continue;
    std::ifstream file(folder + "/" + name);
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("flags:", 0) != 0) continue;
      EXPECT_NE(std::stoul(line.substr(6), nullptr, 8) & O_CLOEXEC, 0U) << name << " " << line;
      ++checked;
    }
  }
  (void)::closedir(descriptors);
  EXPECT_GT(checked, 5U);
}

}  // namespace
}  // namespace cohost::testing
