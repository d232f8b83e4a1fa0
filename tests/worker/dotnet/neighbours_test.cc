// SPDX-License-Identifier: Apache-2.0
//
// A fault in one of ten applications of a worker, and the other nine under load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/http_client.h"
#include "tests/support/http_load.h"
#include "tests/support/wait.h"
#include "tests/worker/dotnet/application_worker.h"
#include "tests/worker/dotnet/applications.h"

namespace cohost::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kNeighbours = 9;

void Set(worker::v1::AssignRequest& request, const std::string& key, const std::string& value) {
  v1::Setting* const setting = request.add_settings();
  setting->set_key(key);
  setting->set_value(value);
}

class Neighbours : public DotnetTest {
 protected:
  void SetUp() override {
    DotnetTest::SetUp();
    if (IsSkipped()) return;
    const absl::Status started = worker_.Start();
    ASSERT_TRUE(started.ok()) << started << worker_.peer().Log();
    for (int i = 1; i <= kNeighbours; ++i) {
      const std::string name = absl::StrCat("neighbour-", i);
      const absl::Status added = worker_.Add({.name = "Minimal"}, name);
      ASSERT_TRUE(added.ok()) << added << worker_.peer().Log();
      ports_.push_back(worker_.Port(name));
    }
  }

  // The tenth, with the setting "fault".
  absl::Status AddFaulty(const std::string& application, const std::string& fault = "") {
    return worker_.Add({.name = application}, "", [&](worker::v1::AssignRequest& request) {
      if (!fault.empty()) Set(request, "fault", fault);
    });
  }

  void BeginLoad() {
    HttpLoad::Options options;
    options.ports = ports_;
    options.target = "/text";
    options.connections = 2 * kNeighbours;
    options.rate = 300;
    load_ = std::make_unique<HttpLoad>(options);
    ASSERT_TRUE(Eventually([&] { return load_->answered() > 200; }));
  }

  // All answers to the neighbours were as they should be, and they still answer.
  LoadReport EndLoad() {
    const uint64_t before = load_->answered();
    EXPECT_TRUE(Eventually([&] { return load_->answered() > before + 200; }));
    const LoadReport report = load_->Stop();
    EXPECT_EQ(report.failures(), 0u) << report.first_failure;
    const absl::Status alive = worker_.CheckAlive();
    EXPECT_TRUE(alive.ok()) << alive;
    return report;
  }

  // "200 BODY", or why there was no answer.
  std::string Get(const std::string& service, const std::string& target) {
    auto client = HttpClient::Connect(worker_.Port(service));
    if (!client.ok()) return std::string(client.status().message());
    const auto answer = client->Get(target);
    if (!answer.ok()) return std::string(answer.status().message());
    return absl::StrCat(answer->status, " ", answer->body);
  }

  // The tenth is told to be unhealthy, the others are not.
  bool WaitUntilUnhealthy() {
    return Eventually([&] {
      const auto response = worker_.peer().Probe(absl::Seconds(5));
      if (!response.ok()) return false;
      int unhealthy = 0;
      bool tenth = false;
      for (const auto& service : response->services()) {
        if (service.healthy()) continue;
        ++unhealthy;
        tenth = tenth || service.service_id() == kNeighbours + 1;
      }
      return tenth && unhealthy == 1;
    });
  }

  // Whether a line of the worker's log has both.
  bool Logged(const std::string& one, const std::string& other) {
    for (const auto line : absl::StrSplit(worker_.peer().Log(), '\n')) {
      if (line.find(one) != line.npos && line.find(other) != line.npos) return true;
    }
    return false;
  }

  // How the worker ended, of a request to Crashes; its slots name who did it.
  int SignalOf(const std::string& target) {
    EXPECT_TRUE(AddFaulty("Crashes").ok());
    EXPECT_EQ(Get("Crashes", "/"), "200 well");
    auto client = HttpClient::Connect(worker_.Port("Crashes"));
    EXPECT_TRUE(client.ok());
    if (!client.ok()) return 0;
    EXPECT_TRUE(
        client->Send(absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: localhost\r\n\r\n")).ok());
    const auto ended = worker_.peer().process().WaitUntilEnded();
    EXPECT_TRUE(ended.has_value()) << worker_.peer().Log();
    EXPECT_TRUE(IsInASlot("Crashes")) << "no thread worked for it";
    return ended ? ended->signal.value_or(0) : 0;
  }

  // Requests to the service so far.
  uint64_t Started(const std::string& service) {
    uint64_t started = 0;
    for (const ServiceCounters& stripe :
         worker_.peer().segment().rows[worker_.Row(service)].stripes) {
      started += stripe.started;
    }
    return started;
  }

  ApplicationWorker worker_;
  std::vector<uint16_t> ports_;
  std::unique_ptr<HttpLoad> load_;

 private:
  bool IsInASlot(const std::string& service) {
    for (const ThreadSlot& slot : worker_.peer().segment().threads) {
      if (slot.thread_id != 0 && slot.row == worker_.Row(service)) return true;
    }
    return false;
  }
};

TEST_F(Neighbours, ServeOnWhenNobodyCatchesAnException) {
  ASSERT_TRUE(AddFaulty("Faulty").ok());
  BeginLoad();
  const std::pair<const char*, const char*> kFaults[] = {{"/thread", "on a thread"},
                                                         {"/pool", "on the pool"},
                                                         {"/timer", "in a timer"},
                                                         {"/async-void", "async void"}};
  for (const auto& [target, message] : kFaults) {
    EXPECT_EQ(Get("Faulty", target), "200 thrown");
    EXPECT_TRUE(Eventually([&] { return Logged("\"service\":\"Faulty\"", message); }))
        << target << worker_.peer().Log();
  }
  EXPECT_EQ(Get("Faulty", "/"), "200 well");
  EndLoad();
}

TEST_F(Neighbours, ServeOnWhenAnApplicationStopsItself) {
  ASSERT_TRUE(AddFaulty("Faulty").ok());
  BeginLoad();
  EXPECT_EQ(Get("Faulty", "/stop"), "200 stopping");
  EXPECT_TRUE(WaitUntilUnhealthy()) << worker_.peer().Log();
  EndLoad();
}

TEST_F(Neighbours, ServeOnWhenAHostedServiceFails) {
  BeginLoad();
  (void)AddFaulty("Faulty", "hosted service");  // it may end before or after it was ready
  EXPECT_TRUE(Eventually([&] { return Logged("Faulty", "in a hosted service"); }))
      << worker_.peer().Log();
  EndLoad();
}

TEST_F(Neighbours, ServeOnWhenAnApplicationThrowsAtItsStart) {
  BeginLoad();
  const absl::Status status = AddFaulty("Faulty", "throw");
  EXPECT_THAT(status.message(), HasSubstr("this application cannot start"));
  // The managed stack tells where.
  EXPECT_THAT(status.message(), HasSubstr("Program"));
  EndLoad();
}

TEST_F(Neighbours, ServeOnWhenMainReturnsWithoutAHost) {
  BeginLoad();
  EXPECT_FALSE(AddFaulty("Faulty", "return").ok());
  EndLoad();
}

TEST_F(Neighbours, ServeOnBesideAnEndlessLoop) {
  ASSERT_TRUE(AddFaulty("Faulty").ok());
  BeginLoad();
  HttpLoad loops({{worker_.Port("Faulty")}, "/spin/3000", 2, /*rate=*/10, true});
  const LoadReport report = EndLoad();
  EXPECT_LT(report.longest_gap, absl::Seconds(3));
}

TEST_F(Neighbours, NET_02_ServeOnWhileOneBlocksItsThreads) {
  ASSERT_TRUE(AddFaulty("Faulty").ok());
  BeginLoad();
  // More than the thread pool has threads, and more than the service may have requests.
  HttpLoad blocked({{worker_.Port("Faulty")}, "/block/2000", 100, /*rate=*/1000, true});
  ASSERT_TRUE(Eventually([&] { return Started("Faulty") >= 64; }));
  const LoadReport report = EndLoad();
  // Without limits outside of the application this was 9 s.
  EXPECT_LT(report.longest_gap, absl::Seconds(2));
}

TEST_F(Neighbours, NET_03_ServeOnWhenAnApplicationDoesNotStop) {
  ASSERT_TRUE(AddFaulty("Faulty", "never stops").ok());
  BeginLoad();
  EXPECT_EQ(Get("Faulty", "/"), "200 well");
  const auto removed = worker_.peer().Remove(/*service_id=*/kNeighbours + 1, absl::Seconds(1));
  EXPECT_TRUE(removed.ok()) << removed.status();
  EndLoad();
}

TEST_F(Neighbours, NET_04_ANullReferenceIsAnExceptionOfItsOwnRequest) {
  ASSERT_TRUE(AddFaulty("Faulty").ok());
  BeginLoad();
  EXPECT_THAT(Get("Faulty", "/null"), HasSubstr("500"));
  EXPECT_EQ(Get("Faulty", "/"), "200 well");
  EndLoad();
}

TEST_F(Neighbours, NET_04_ANativeCrashEndsTheWorkerWithItsSignal) {
  EXPECT_EQ(SignalOf("/native"), SIGSEGV);
}

TEST_F(Neighbours, AWildManagedWriteEndsTheWorker) { EXPECT_EQ(SignalOf("/wild-write"), SIGABRT); }

TEST_F(Neighbours, AStackOverflowEndsTheWorker) { EXPECT_EQ(SignalOf("/overflow"), SIGABRT); }

TEST_F(Neighbours, FailFastEndsTheWorker) { EXPECT_EQ(SignalOf("/fail-fast"), SIGABRT); }

TEST_F(Neighbours, ServeOnWhenAnApplicationExits) {
  ASSERT_TRUE(AddFaulty("Exits").ok());
  BeginLoad();
  auto client = HttpClient::Connect(worker_.Port("Exits"));
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE(client->Send("GET /exit/3 HTTP/1.1\r\nHost: localhost\r\n\r\n").ok());
  EXPECT_TRUE(WaitUntilUnhealthy()) << worker_.peer().Log();
  EndLoad();
}

TEST_F(Neighbours, NET_05_TheFirstClientComesAfterTheWarmUp) {
  const absl::Status added =
      worker_.Add({.name = "Faulty"}, "",
                  [](worker::v1::AssignRequest& request) { request.add_warmup("/first"); });
  ASSERT_TRUE(added.ok()) << added;
  EXPECT_EQ(Get("Faulty", "/first"), "200 again");
}

TEST_F(Neighbours, KeepWhatAnApplicationChangesOfItsProcess) {
  ASSERT_TRUE(worker_.Add({.name = "Surroundings"}).ok());
  // Environment variables are not among them: those that an application sets at a request are the
  // process's.
  const std::vector<std::string> targets = {"/start", "/now", "/background", "/host", "/settings"};
  std::vector<std::string> before, after;
  for (const std::string& target : targets) before.push_back(Get("Surroundings", target));
  ASSERT_TRUE(AddFaulty("Meddling").ok());
  BeginLoad();
  EXPECT_EQ(Get("Meddling", "/meddle"), "200 request");
  for (const std::string& target : targets) after.push_back(Get("Surroundings", target));
  EXPECT_EQ(after, before);
  EXPECT_TRUE(Eventually([&] { return Logged("Meddling", "standard output, start"); }));
  EXPECT_TRUE(Eventually([&] { return Logged("Meddling", "standard error, request"); }));
  EndLoad();
}

}  // namespace
}  // namespace cohost::testing
