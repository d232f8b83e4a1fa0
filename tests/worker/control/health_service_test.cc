// SPDX-License-Identifier: Apache-2.0
#include "worker/control/health_service.h"

#include <memory>
#include <string>
#include <vector>

#include "tests/worker/control/control_harness.h"

namespace cohost::worker {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class HealthServiceTest : public ControlHarness {
 protected:
  HealthService& health() { return parts_.server.health(); }
  void Set(const std::string& service, HealthService::Status status) {
    OnLoop([&] { health().Set(service, status); });
  }
  grpc::Status Check(const std::string& service, HealthCheckResponse* response) {
    HealthCheckRequest request;
    request.set_service(service);
    return stub_->Check(Context().get(), request, response);
  }

  // One stream of Watch.
  struct Watching {
    std::unique_ptr<grpc::ClientContext> context = Context();
    std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> stream;
    // The next status that comes.
    int Next() const {
      HealthCheckResponse response;
      return stream->Read(&response) ? static_cast<int>(response.status()) : -1;
    }
    grpc::Status Cancel() const {
      context->TryCancel();
      return stream->Finish();
    }
  };
  std::unique_ptr<Watching> Watch(Health::Stub& stub, const std::string& service) {
    HealthCheckRequest request;
    request.set_service(service);
    auto watching = std::make_unique<Watching>();
    watching->stream = stub.Watch(watching->context.get(), request);
    return watching;
  }

  std::unique_ptr<Health::Stub> stub_ = Health::NewStub(Connect());
};

TEST_F(HealthServiceTest, ACheckTellsWhatIsAndNotFoundForWhatIsNot) {
  Set("", HealthCheckResponse::SERVING);
  Set("catalog", HealthCheckResponse::NOT_SERVING);
  HealthCheckResponse response;
  ASSERT_TRUE(Check("", &response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  ASSERT_TRUE(Check("catalog", &response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Check("Catalog", &response).error_code(), grpc::StatusCode::NOT_FOUND);
  OnLoop([this] { health().Forget("catalog"); });
  EXPECT_EQ(Check("catalog", &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(HealthServiceTest, EveryWatcherOfAServiceIsToldAndNoOther) {
  const auto other_stub = Health::NewStub(Connect());
  const auto first = Watch(*stub_, "catalog");
  const auto second = Watch(*other_stub, "catalog");
  const auto whole = Watch(*stub_, "");
  for (const Watching* each : {first.get(), second.get(), whole.get()}) {
    ASSERT_EQ(each->Next(), HealthCheckResponse::SERVICE_UNKNOWN);
  }
  Set("catalog", HealthCheckResponse::SERVING);
  EXPECT_EQ(first->Next(), HealthCheckResponse::SERVING);
  EXPECT_EQ(second->Next(), HealthCheckResponse::SERVING);
  Set("", HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(whole->Next(), HealthCheckResponse::NOT_SERVING);
  for (const Watching* each : {first.get(), second.get(), whole.get()}) {
    EXPECT_EQ(each->Cancel().error_code(), grpc::StatusCode::CANCELLED);
  }
}

TEST_F(HealthServiceTest, WhatChangesTwiceWhileAStatusTravelsIsToldByItsLast) {
  const auto watching = Watch(*stub_, "catalog");
  ASSERT_EQ(watching->Next(), HealthCheckResponse::SERVICE_UNKNOWN);
  OnLoop([this] {
    for (int i = 0; i < 1000; ++i) {
      health().Set("catalog",
                   i % 2 == 0 ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING);
    }
    health().Set("catalog", HealthCheckResponse::SERVING);
  });
  // The first change was on its way; all that came in the same turn of the loop is one.
  EXPECT_EQ(watching->Next(), HealthCheckResponse::SERVING);
  Set("catalog", HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(watching->Next(), HealthCheckResponse::NOT_SERVING);
  (void)watching->Cancel();
}

TEST_F(HealthServiceTest, AWatcherThatHasGoneIsForgotten) {
  auto leaving_channel = Connect();
  auto leaving_stub = Health::NewStub(leaving_channel);
  std::vector<std::unique_ptr<Watching>> leaving;
  for (int i = 0; i < 20; ++i) {
    leaving.push_back(Watch(*leaving_stub, "catalog"));
    ASSERT_EQ(leaving.back()->Next(), HealthCheckResponse::SERVICE_UNKNOWN);
  }
  const auto staying = Watch(*stub_, "catalog");
  ASSERT_EQ(staying->Next(), HealthCheckResponse::SERVICE_UNKNOWN);
  for (const auto& each : leaving) each->context->TryCancel();
  // Changes meet cancellations at every stage.
  for (int i = 0; i < 50; ++i) {
    Set("catalog", i % 2 == 0 ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING);
  }
  for (const auto& each : leaving) {
    EXPECT_EQ(each->stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  leaving.clear();
  leaving_stub.reset();
  leaving_channel.reset();
  // What stays hears the last of it all.
  for (const auto last : {HealthCheckResponse::SERVING, HealthCheckResponse::NOT_SERVING}) {
    Set("catalog", last);
    int told = HealthCheckResponse::UNKNOWN;
    while (told != last) {
      told = staying->Next();
      ASSERT_NE(told, -1);
    }
  }
  (void)staying->Cancel();
}

TEST_F(HealthServiceTest, NamesAreTakenAsTheyAreHoweverLong) {
  const std::string name = std::string(4000, 'n') + "/\xc3\xa9 \n";
  Set(name, HealthCheckResponse::SERVING);
  HealthCheckResponse response;
  EXPECT_TRUE(Check(name, &response).ok());
  EXPECT_EQ(Check(name.substr(0, 4000), &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace cohost::worker
