// SPDX-License-Identifier: Apache-2.0
#include "worker/dotnet/dotnet_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/system/seqpacket.h"
#include "boost/asio/post.hpp"
#include "tests/support/temporary_folder.h"
#include "tests/worker/worker_harness.h"

namespace cohost::worker::dotnet {
namespace {

using ::testing::HasSubstr;

// A worker's parts, and the runtime over a hostfxr that starts no .NET. The runtime cannot end, so
// one serves all tests.
class World {
 public:
  static World& The() {
    static World* const world = new World();
    return *world;
  }

  // The dotnet root with the fake in it, and a file in the shim's place.
  static DotnetOptions Options(const std::string& folder) {
    namespace fs = std::filesystem;
    const fs::path fxr = fs::path(folder) / "host/fxr/10.0.12";
    fs::create_directories(fxr);
    fs::copy_file("tests/worker/dotnet/libhostfxr.so", fxr / "libhostfxr.so",
                  fs::copy_options::overwrite_existing);
    std::ofstream(folder + "/Cohost.Worker.dll") << "an assembly";
    return {.places = {.configured = folder}, .shim = folder + "/Cohost.Worker.dll"};
  }

  LentParts Lent() {
    return {harness.table,
            harness.clock,
            harness.log,
            [this](std::function<void()> function) {
              boost::asio::post(harness.io, std::move(function));
            },
            {harness.slots, harness.log, [this](uint64_t id) { harness.acceptor.NoteRoom(id); }}};
  }

  ServiceEntry& AddService(const std::string& application) {
    ServiceDescription description;
    description.id = next_id_++;
    description.name = application;
    description.endpoints = {{7, "http://127.0.0.1:1"}, {8, "http://127.0.0.1:2"}};
    ServiceEntry& entry = **harness.table.Add(std::move(description));
    entry.Host(runtime.Create({.application = "/trees/" + application + ".dll"}, entry));
    return entry;
  }

  absl::Status Start(ServiceEntry& entry) {
    std::optional<absl::Status> result;
    entry.hosted()->Start([&](const absl::Status& status) { result = status; });
    EXPECT_TRUE(harness.RunUntil([&] { return result.has_value(); }));
    return result.value_or(absl::UnknownError("never told"));
  }

  ServiceEntry& AddStarted(const std::string& application) {
    ServiceEntry& entry = AddService(application);
    EXPECT_TRUE(Start(entry).ok());
    harness.table.SetState(entry, RowState::kReady);
    return entry;
  }

  // The answer to one request over a connection that came by `listener`.
  std::string Fetch(ServiceEntry& entry, uint64_t listener, Arrival arrival) {
    absl::StatusOr<SocketPair> pair = MakeStreamPair();
    EXPECT_TRUE(pair.ok());
    if (arrival == Arrival::kAccepted) entry.gate()->Add();
    entry.hosted()->connection_server()->Serve(std::move(pair->first), entry, arrival, "unix",
                                               listener);
    const std::string request = kGetRequest;
    EXPECT_EQ(::send(pair->second.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::string answer;
    std::array<char, 4096> part;
    EXPECT_TRUE(harness.RunUntil([&] {
      const ssize_t count = ::recv(pair->second.get(), part.data(), part.size(), MSG_DONTWAIT);
      if (count > 0) answer.append(part.data(), static_cast<size_t>(count));
      return count == 0;
    }));
    return answer;
  }

  cohost::testing::TemporaryFolder folder;
  WorkerHarness harness;
  DotnetRuntime runtime;

 private:
  World() : runtime(Lent(), Options(folder.path())) {}

  uint64_t next_id_ = 1;
};

TEST(DotnetRuntime, AnApplicationThatStartsIsReadyAndAnswers) {
  World& world = World::The();
  ServiceEntry& entry = world.AddStarted("app");
  EXPECT_THAT(world.Fetch(entry, 7, Arrival::kAccepted), HasSubstr("endpoint 0"));
}

TEST(DotnetRuntime, AConnectionGoesToTheEndpointOfItsListener) {
  World& world = World::The();
  ServiceEntry& entry = world.AddStarted("app");
  EXPECT_THAT(world.Fetch(entry, 8, Arrival::kAccepted), HasSubstr("endpoint 1"));
  // A probe came by no listener: the first one.
  EXPECT_THAT(world.Fetch(entry, 0, Arrival::kInternal), HasSubstr("endpoint 0"));
}

TEST(DotnetRuntime, ConnectionsAreCountedWhileTheyAreOpen) {
  World& world = World::The();
  ServiceEntry& entry = world.AddStarted("app");
  (void)world.Fetch(entry, 7, Arrival::kAccepted);
  (void)world.Fetch(entry, 7, Arrival::kInternal);
  EXPECT_TRUE(world.harness.RunUntil([&] { return entry.gate()->open() == 0; }));
  EXPECT_EQ(entry.counters().connections.load(), 1u);
}

TEST(DotnetRuntime, AStartThatFailsIsToldWithTheManagedStackAndNeighboursGoOn) {
  World& world = World::The();
  ServiceEntry& neighbour = world.AddStarted("app");
  const absl::Status status = world.Start(world.AddService("fails"));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("at Main()"));
  EXPECT_THAT(world.Fetch(neighbour, 7, Arrival::kAccepted), HasSubstr("200 OK"));
}

TEST(DotnetRuntime, AnApplicationThatEndedByItselfIsNotHealthyAndItsNeighbourIs) {
  World& world = World::The();
  ServiceEntry& ended = world.AddStarted("ends");
  ServiceEntry& neighbour = world.AddStarted("app");
  EXPECT_FALSE(ended.hosted()->Health().healthy);
  EXPECT_THAT(ended.hosted()->Health().reason, HasSubstr("Main returned"));
  EXPECT_TRUE(neighbour.hosted()->Health().healthy);
}

TEST(DotnetRuntime, WhatTheShimSaysAboutHealthIsTheReason) {
  World& world = World::The();
  ServiceEntry& entry = world.AddStarted("app");
  ::setenv("FAKE_DOTNET", "health", 1);
  const HealthAnswer answer = entry.hosted()->Health();
  ::unsetenv("FAKE_DOTNET");
  EXPECT_FALSE(answer.healthy);
  EXPECT_EQ(answer.reason, "no thread of the pool was free");
}

TEST(DotnetRuntime, GaugesAreTheShims) {
  World& world = World::The();
  ServiceEntry& entry = world.AddStarted("app");
  const ServiceGauges gauges = entry.gauges(world.harness.clock.Steady());
  EXPECT_EQ(gauges.in_flight, 3u);
  EXPECT_EQ(gauges.queued, 2u);
  EXPECT_GT(gauges.oldest_request_age, absl::ZeroDuration());
  EXPECT_EQ(entry.hosted()->allocated_bytes(), 4096u);
}

TEST(DotnetRuntime, ADrainMakesItDrainingAndADoneStopLeavesTheTable) {
  World& world = World::The();
  ServiceEntry& entry = world.AddStarted("app");
  std::optional<DrainResult> drained;
  entry.hosted()->connection_server()->DrainService(entry, absl::Seconds(5), CancelReason::kRemoved,
                                                    nullptr,
                                                    [&](DrainResult result) { drained = result; });
  EXPECT_TRUE(entry.draining());
  ASSERT_TRUE(world.harness.RunUntil([&] { return drained.has_value(); }));
  bool stopped = false;
  entry.hosted()->Stop([&] { stopped = true; });
  ASSERT_TRUE(world.harness.RunUntil([&] { return stopped; }));
  EXPECT_TRUE(world.harness.table.Remove(entry).ok());
}

TEST(DotnetRuntime, AStartThatIsNeverToldLeavesTheServiceLoading) {
  World& world = World::The();
  ServiceEntry& entry = world.AddService("silent");
  bool told = false;
  entry.hosted()->Start([&](const absl::Status&) { told = true; });
  // Another one that starts after it shows that its own start has been begun.
  (void)world.AddStarted("app");
  EXPECT_FALSE(told);
  EXPECT_LE(entry.hosted()->last_progress(), world.harness.clock.Steady());
}

}  // namespace
}  // namespace cohost::worker::dotnet
