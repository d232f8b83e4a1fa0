// SPDX-License-Identifier: Apache-2.0
#include "tests/worker/worker_harness.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/system/seqpacket.h"
#include "boost/asio/post.hpp"
#include "gtest/gtest.h"
#include "tests/support/loop.h"

namespace cohost::worker {

void ScriptedService::Start(std::function<void(absl::Status)> done) {
  calls.emplace_back("start");
  start_done = std::move(done);
  if (!hold_start) start_done(absl::OkStatus());
}

void ScriptedService::Handle(std::shared_ptr<Exchange> exchange) {
  if (dispatch_to == Dispatch::kInline) {
    calls.push_back(std::string(exchange->method()) + " " + std::string(exchange->target()));
  }
  if (handle) return handle(std::move(exchange));
  (void)exchange->Respond(200, {}, "");
}

void ScriptedService::Ended(Exchange&, const CancelReason* cancelled) {
  if (cancelled == nullptr) return;
  calls.push_back("cancelled " + std::to_string(static_cast<uint32_t>(*cancelled)));
}

void ScriptedService::Drain(std::function<void()> done) {
  calls.emplace_back("drain");
  drain_done = std::move(done);
  if (!hold_drain) drain_done();
}

void ScriptedService::Stop(std::function<void()> done) {
  calls.emplace_back("stop");
  stop_done = std::move(done);
  if (!hold_stop) stop_done();
}

WorkerHarness::WorkerHarness()
    : null(::open("/dev/null", O_WRONLY | O_CLOEXEC)),
      log(null.get(), "test"),
      slots(memory.segment()),
      pool(slots, clock, HandlerPool::Options{.max_threads = 8}),
      inbox(io),
      deadlines(io, clock),
      table(memory.segment(), pool, inbox, clock),
      http(io, table, deadlines, inbox, HttpServer::Options()),
      acceptor(
          [this](std::vector<AcceptedConnection> batch) {
            const auto shared = std::make_shared<std::vector<AcceptedConnection>>(std::move(batch));
            boost::asio::post(io, [this, shared] {
              for (AcceptedConnection& one : *shared) {
                accepted.push_back(one.service_id);
                if (ServiceEntry* const entry = table.Find(one.service_id)) {
                  http.Serve(std::move(one.fd), *entry, Arrival::kAccepted, one.peer, one.listener);
                }
              }
            });
          },
          memory.segment().header, slots, clock, log, Acceptor::Options()),
      calls(io, table, clock),
      parts{io, table, http, acceptor, calls, pool, clock, log} {
  EXPECT_TRUE(acceptor.Start().ok());
}

WorkerHarness::~WorkerHarness() {
  acceptor.Stop();
  pool.Stop();
  Poll();
}

ServiceEntry& WorkerHarness::AddService(uint64_t id, std::vector<ServiceEndpoint> endpoints) {
  ServiceDescription description;
  description.id = id;
  description.name = "service-" + std::to_string(id);
  description.endpoints = std::move(endpoints);
  ServiceEntry& entry = **table.Add(std::move(description));
  entry.Host(std::make_unique<ScriptedService>());
  return entry;
}

void WorkerHarness::MakeReady(ServiceEntry& entry) {
  table.SetState(entry, RowState::kReady);
  calls.SetServes(entry.name(), entry.id(), true);
}

void WorkerHarness::Poll() { testing::PollAll(io); }

bool WorkerHarness::RunUntil(const std::function<bool()>& condition) {
  return testing::RunUntil(io, condition);
}

UniqueFd WorkerHarness::Connect(ServiceEntry& entry, const std::string& request) {
  absl::StatusOr<SocketPair> pair = MakeStreamPair();
  EXPECT_TRUE(pair.ok());
  http.Serve(std::move(pair->first), entry, Arrival::kAdopted, "unix", /*listener=*/0);
  EXPECT_EQ(::send(pair->second.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  Poll();
  return std::move(pair->second);
}

UniqueFd MakeListener() {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::listen(fd.get(), 16), 0);
  return fd;
}

UniqueFd ConnectTo(const UniqueFd& listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  return client;
}

}  // namespace cohost::worker
