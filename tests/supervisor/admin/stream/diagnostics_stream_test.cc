// SPDX-License-Identifier: Apache-2.0
//
// The calls from a client's side, over a runtime that tests/fakes has made up in this process.
#include "supervisor/admin/stream/diagnostics_stream.h"

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/admin.grpc.pb.h"
#include "tests/fakes/diagnostics_server.h"
#include "tests/supervisor/admin/admin_fixture.h"
#include "tests/support/wait.h"

namespace cohost::supervisor {
namespace {

namespace v1 = admin::v1;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class DiagnosticsStreamTest : public AdminFixture {
 protected:
  DiagnosticsStreamTest() : runtime_(std::make_unique<FakeDiagnosticsServer>(folder_.path())) {
    host_.Change([this](HostSnapshot& host) {
      for (ServiceView& service : host.services) service.runtime = Runtime::kDotnet;
      for (WorkerView& worker : host.workers) {
        worker.pid = ::getpid();
        worker.diagnostics_folder = folder_.path();
      }
    });
    AdminServerOptions options;
    options.dumps_folder = folder_ / "dumps";
    StartServer(std::move(options));
    stub_ = v1::Admin::NewStub(Connect());
  }

  struct Answer {
    v1::DiagnosedWorker worker;
    uint64_t size = 0;
    std::string data;
    grpc::Status status;
  };

  using Reader = std::unique_ptr<grpc::ClientReader<v1::DiagnosticsPart>>;

  static Answer ReadAll(const Reader& reader) {
    Answer answer;
    v1::DiagnosticsPart part;
    while (reader->Read(&part)) {
      if (part.has_worker()) answer.worker = part.worker();
      answer.size += part.size_bytes();
      answer.data += part.data();
    }
    answer.status = reader->Finish();
    return answer;
  }

  Answer Dump(v1::DumpWorkerRequest request = {}) {
    request.set_service("catalog");
    const auto context = Context();
    return ReadAll(stub_->DumpWorker(context.get(), request));
  }

  // One of a tenth of a second, unless said otherwise.
  static v1::TraceWorkerRequest TraceOf(const std::string& service) {
    v1::TraceWorkerRequest request;
    request.set_service(service);
    request.mutable_duration()->set_nanos(100'000'000);
    return request;
  }
  Answer Trace(const v1::TraceWorkerRequest& request = TraceOf("catalog")) {
    const auto context = Context();
    return ReadAll(stub_->TraceWorker(context.get(), request));
  }

  std::unique_ptr<FakeDiagnosticsServer> runtime_;
  std::unique_ptr<v1::Admin::Stub> stub_;
};

TEST_F(DiagnosticsStreamTest, ADumpComesWholeAndNamesAllServicesOfTheWorker) {
  // More than the queue holds.
  const std::string memory(4 * DiagnosticsStream::kQueue * DiagnosticsStream::kPartSize + 7, 'm');
  runtime_->set_dump(memory);
  const Answer answer = Dump();
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.worker.group(), "steady-1");
  EXPECT_THAT(answer.worker.services(), ElementsAre("catalog", "currency"));
  EXPECT_EQ(answer.size, memory.size());
  EXPECT_TRUE(answer.data == memory) << answer.data.size();
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "dumps"));
}

TEST_F(DiagnosticsStreamTest, ADumpIsAnEventOfItsCaller) {
  (void)Dump();
  v1::WatchEventsRequest request;
  const auto context = Context();
  const auto reader = stub_->WatchEvents(context.get(), request);
  v1::Event event;
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_EQ(event.kind(), "diagnostics");
  EXPECT_EQ(event.service(), "catalog");
  EXPECT_EQ(event.group(), "steady-1");
  EXPECT_EQ(event.uid(), ::getuid());
}

TEST_F(DiagnosticsStreamTest, AFullDiskIsTold) {
  runtime_->FailDumps("Error writing data to dump file: No space left on device (28)");
  const Answer answer = Dump();
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("No space left on device"));
}

TEST_F(DiagnosticsStreamTest, AWorkerThatDiesMeanwhileIsTold) {
  runtime_->set_mood(FakeDiagnosticsServer::Mood::kHangsUp);
  EXPECT_THAT(Dump().status.error_message(), HasSubstr("has ended"));
  runtime_->Die();
  EXPECT_THAT(Trace().status.error_message(), HasSubstr("has ended"));
}

TEST_F(DiagnosticsStreamTest, AWorkerThatDiesDuringATraceIsTold) {
  v1::TraceWorkerRequest request = TraceOf("catalog");
  request.clear_duration();
  const auto context = Context();
  const Reader reader = stub_->TraceWorker(context.get(), request);
  v1::DiagnosticsPart part;
  while (part.data().empty() && reader->Read(&part)) {
  }
  runtime_->Die();
  const Answer answer = ReadAll(reader);
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("has ended"));
}

TEST_F(DiagnosticsStreamTest, ATraceEndsAfterItsTimeWithTheRundown) {
  runtime_->set_stream("Nettrace;");
  const Answer answer = Trace();
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_THAT(answer.data,
              AllOf(StartsWith("Nettrace;"), HasSubstr("tick;"), EndsWith("rundown;")));
  EXPECT_THAT(answer.worker.services(), ElementsAre("catalog", "currency"));
  EXPECT_EQ(runtime_->stopped(), 1u);
}

TEST_F(DiagnosticsStreamTest, AClientThatGoesAwayStopsTheTrace) {
  v1::TraceWorkerRequest request = TraceOf("catalog");
  request.clear_duration();
  const auto context = Context();
  const Reader reader = stub_->TraceWorker(context.get(), request);
  v1::DiagnosticsPart part;
  while (part.data().empty() && reader->Read(&part)) {
  }
  EXPECT_EQ(runtime_->streams(), 1u);
  context->TryCancel();
  EXPECT_EQ(ReadAll(reader).status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(testing::Eventually([&] { return runtime_->stopped() == 1; }));
}

TEST_F(DiagnosticsStreamTest, AHostThatStopsStopsTheTrace) {
  v1::TraceWorkerRequest request = TraceOf("catalog");
  request.clear_duration();
  const auto context = Context();
  const Reader reader = stub_->TraceWorker(context.get(), request);
  v1::DiagnosticsPart part;
  while (part.data().empty() && reader->Read(&part)) {
  }
  EXPECT_TRUE(StopServer(absl::Seconds(20)).ok());
  EXPECT_FALSE(ReadAll(reader).status.ok());
  EXPECT_TRUE(testing::Eventually([&] { return runtime_->streams() == 0; }));
}

TEST_F(DiagnosticsStreamTest, OnlySoManyRunAtATime) {
  runtime_->set_mood(FakeDiagnosticsServer::Mood::kIsSilent);
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<Reader> readers;
  for (size_t i = 0; i < SessionThreads::kMost; ++i) {
    contexts.push_back(Context());
    readers.push_back(stub_->TraceWorker(contexts.back().get(), TraceOf("catalog")));
    v1::DiagnosticsPart part;
    EXPECT_TRUE(readers.back()->Read(&part)) << i;
  }
  EXPECT_EQ(Trace().status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  for (const auto& context : contexts) context->TryCancel();
  runtime_->set_mood(FakeDiagnosticsServer::Mood::kAnswers);
  EXPECT_TRUE(testing::Eventually([&] { return Trace().status.ok(); }));
  for (const Reader& reader : readers) (void)ReadAll(reader);
}

TEST_F(DiagnosticsStreamTest, WhatIsAskedIsChecked) {
  v1::DumpWorkerRequest dump;
  dump.set_kind(static_cast<v1::DumpKind>(17));
  EXPECT_EQ(Dump(dump).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  v1::TraceWorkerRequest trace = TraceOf("catalog");
  trace.mutable_duration()->set_seconds(3601);
  EXPECT_EQ(Trace(trace).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  trace = TraceOf("catalog");
  trace.add_providers();
  EXPECT_EQ(Trace(trace).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  trace.mutable_providers(0)->set_name("System.Runtime");
  trace.mutable_providers(0)->set_level(6);
  EXPECT_EQ(Trace(trace).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Trace(TraceOf("orders")).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Trace(TraceOf("nobody")).status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(runtime_->commands().empty());
}

}  // namespace
}  // namespace cohost::supervisor
