// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/messages.h"

#include <cctype>
#include <cstddef>
#include <string>

#include "gtest/gtest.h"
#include "supervisor/admin/memory_messages.h"
#include "tests/fakes/host_control.h"

namespace cohost::supervisor {
namespace {

const std::string kBroken = "no \xff\xc3 text";
const std::string kMended = "no \xef\xbf\xbd\xef\xbf\xbd text";

// Whether a client can read it: one text that is no UTF-8 spoils the whole message.
template <typename Message>
bool IsReadable(const Message& message) {
  Message read;
  return read.ParseFromString(message.SerializeAsString());
}

// Bytes of the header that carries a status's text: HTTP/2 has it percent-encoded.
size_t LengthInHeader(const std::string& text) {
  size_t length = 0;
  for (const char c : text) length += c >= ' ' && c <= '~' && c != '%' ? 1 : 3;
  return length;
}

TEST(Messages, WhateverAModuleOrAFileSaysTheMessageCanBeRead) {
  HostSnapshot host = SampleHost();
  host.deployment_file = kBroken;
  host.remarks = {kBroken};
  host.services[0].reason = kBroken;
  host.workers[0].last_exit = kBroken;
  host.modules[0].source_path = kBroken;
  EXPECT_TRUE(IsReadable(StatusMessage(host, "1.2.3")));
  EXPECT_TRUE(IsReadable(ServiceMessage(host.services[0])));
  EXPECT_EQ(ServiceMessage(host.services[0]).reason(), kMended);
  EXPECT_TRUE(IsReadable(WorkerMessage(host.workers[0])));
  EXPECT_TRUE(IsReadable(ModuleMessage(host.modules[0], host)));

  HostEvent event;
  event.message = kBroken;
  EXPECT_EQ(EventMessage(event).message(), kMended);
  ReloadOutcome reload;
  reload.problems = {{kBroken, 1, 2, kBroken, kBroken}};
  EXPECT_TRUE(IsReadable(ReloadMessage(reload)));
  RecycleOutcome recycle;
  recycle.failed = {"front/0: " + kBroken};
  EXPECT_TRUE(IsReadable(RecycleMessage(recycle)));
}

TEST(Messages, AHostIsHealthyWhenAllThatShouldServeServesEverywhere) {
  HostSnapshot host = SampleHost();
  EXPECT_FALSE(IsHealthy(host)) << "one has failed";
  host.services[2].status = ServiceStatus::kStopped;
  EXPECT_TRUE(IsHealthy(host)) << "who is stopped is not missed";
  host.services[3].ready_workers = 1;
  EXPECT_FALSE(IsHealthy(host)) << "ready in one of two slots";
  host.services[3].ready_workers = 3;
  EXPECT_TRUE(IsHealthy(host)) << "one more while a worker is replaced";
  host.services[3].status = ServiceStatus::kDraining;
  EXPECT_FALSE(IsHealthy(host));
  EXPECT_TRUE(IsHealthy(HostSnapshot()));
}

TEST(Messages, QuantilesAreUpperBoundsOfTheirBuckets) {
  ServiceView view = SampleHost().services[0];
  view.totals.latency = {};
  EXPECT_FALSE(ServiceMessage(view).has_latency_p50());
  view.totals.latency[0] = 50;
  view.totals.latency[3] = 49;
  view.totals.latency[kLatencyBuckets - 1] = 1;
  admin::v1::Service service = ServiceMessage(view);
  EXPECT_EQ(service.latency_p50().nanos(), 500'000);
  EXPECT_EQ(service.latency_p99().nanos(), 5'000'000);
  view.totals.latency[kLatencyBuckets - 1] = 2;
  service = ServiceMessage(view);
  EXPECT_EQ(service.latency_p99().seconds(), 30) << "above all bounds: the last";
}

TEST(Messages, SumsOfAGroupAreOfItsOwnWorkersAndServices) {
  HostSnapshot host = SampleHost();
  host.services[4].totals.finished = 5;
  const admin::v1::Group group = GroupMessage(host.groups[1], host);
  EXPECT_EQ(group.name(), "front");
  EXPECT_EQ(group.pss_bytes(), 2 * 1'830'000U);
  EXPECT_EQ(group.private_bytes(), 2 * 1'200'000U);
  EXPECT_EQ(group.requests(), 5U);
}

TEST(Messages, MemoryLeavesOutWorkersWithoutAProcess) {
  HostSnapshot host = SampleHost();
  host.workers[1].pid = 0;
  const admin::v1::Memory memory = MemoryMessage(host);
  ASSERT_EQ(memory.processes_size(), 5) << "keeper, supervisor and three workers";
  EXPECT_EQ(memory.processes(0).role(), "keeper");
  EXPECT_EQ(memory.pss_bytes(), 7'600'000U + 910'000U + 3 * 1'830'000U);
  EXPECT_EQ(memory.private_bytes(), 6'900'000U + 420'000U + 3 * 1'200'000U);
  EXPECT_EQ(StatusMessage(host, "").workers(), 3U);
  EXPECT_EQ(StatusMessage(host, "").workers_expected(), 4U);
}

TEST(Messages, APlanWithProblemsHasNothingElse) {
  PlanOutcome outcome;
  outcome.groups.push_back({.name = "steady-1"});
  outcome.moved = {"catalog"};
  EXPECT_EQ(PlanMessage(outcome).groups_size(), 1);
  EXPECT_EQ(PlanMessage(outcome).moved_size(), 1);
  outcome.problems = {{"cohost.yaml", 1, 2, "services", "wrong"}};
  const admin::v1::PlanResponse plan = PlanMessage(outcome);
  EXPECT_EQ(plan.problems_size(), 1);
  EXPECT_EQ(plan.groups_size(), 0);
  EXPECT_EQ(plan.moved_size(), 0);
}

TEST(Messages, StatesAndReasonsKeepTheirNames) {
  WorkerView worker = SampleHost().workers[0];
  for (size_t i = 0; i < kRecycleReasons; ++i) {
    worker.last_reason = static_cast<RecycleReason>(i);
    std::string name =
        cohost::v1::RecycleReason_Name(WorkerMessage(worker).last_reason()).substr(15);
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    EXPECT_EQ(name, i == 0 ? "unspecified" : Name(worker.last_reason));
  }
  for (const WorkerStatus status : {WorkerStatus::kAbsent, WorkerStatus::kReady,
                                    WorkerStatus::kBackoff, WorkerStatus::kFailed}) {
    worker.status = status;
    std::string name = cohost::v1::WorkerState_Name(WorkerMessage(worker).state()).substr(13);
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    EXPECT_EQ(name, Name(status));
  }
}

TEST(Messages, AnOptionalThatIsNotSetIsAbsentAndZeroIsAValue) {
  HostEvent event;
  EXPECT_FALSE(EventMessage(event).has_slot());
  EXPECT_FALSE(EventMessage(event).has_uid());
  event.slot = 0;
  event.uid = 0;
  EXPECT_TRUE(EventMessage(event).has_slot());
  EXPECT_TRUE(EventMessage(event).has_uid());
  const WorkerView worker;
  EXPECT_FALSE(WorkerMessage(worker).has_next_attempt());
  EXPECT_FALSE(WorkerMessage(worker).has_ready_after());
}

TEST(GrpcStatus, ATextFitsIntoItsHeaderHoweverItIsEncoded) {
  const auto text_of = [](const std::string& text) {
    return GrpcStatus(absl::NotFoundError(text)).error_message();
  };
  EXPECT_EQ(text_of(std::string(4096, 'x')).size(), 4096U);
  EXPECT_EQ(text_of(std::string(5000, 'x')).size(), 4096U);
  std::string accents;
  for (int i = 0; i < 3000; ++i) accents += "\xc3\xa9";
  for (const std::string& text : {accents, "x" + accents, std::string(5000, '\n'),
                                  std::string(5000, '%'), std::string(5000, '\xff')}) {
    EXPECT_LE(LengthInHeader(text_of(text)), 4096U);
    EXPECT_GE(LengthInHeader(text_of(text)), 4000U) << "no less than there is room for";
  }
  EXPECT_EQ(text_of("x" + accents).size() % 2, 1U) << "no character is cut in two";
  EXPECT_EQ(GrpcStatus(absl::NotFoundError("")).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(GrpcStatus(absl::OkStatus()).ok());
}

}  // namespace
}  // namespace cohost::supervisor
