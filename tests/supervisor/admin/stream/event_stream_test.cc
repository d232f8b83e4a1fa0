// SPDX-License-Identifier: Apache-2.0
#include "supervisor/admin/stream/event_stream.h"

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/admin.grpc.pb.h"
#include "tests/supervisor/admin/admin_fixture.h"

namespace cohost::supervisor {
namespace {

namespace v1 = admin::v1;

class EventStreamTest : public AdminFixture {
 protected:
  EventStreamTest() {
    StartServer();
    stub_ = v1::Admin::NewStub(Connect());
  }

  void Emit(int count, const std::string& message = "") {
    for (int i = 0; i < count; ++i) {
      HostEvent event;
      event.kind = "worker_state";
      event.group = "front";
      event.slot = 0;
      event.message = message;
      host_.Emit(std::move(event));
    }
  }

  std::vector<uint64_t> ReadAll(const v1::WatchEventsRequest& request,
                                grpc::Status* status = nullptr) {
    auto context = Context();
    auto reader = stub_->WatchEvents(context.get(), request);
    std::vector<uint64_t> ids;
    v1::Event event;
    while (reader->Read(&event)) ids.push_back(event.id());
    const grpc::Status end = reader->Finish();
    if (status != nullptr) *status = end;
    return ids;
  }

  std::unique_ptr<v1::Admin::Stub> stub_;
};

TEST_F(EventStreamTest, TellsThePastInOrderAndEnds) {
  Emit(3);
  grpc::Status status;
  EXPECT_THAT(ReadAll({}, &status), ::testing::ElementsAre(1, 2, 3));
  EXPECT_TRUE(status.ok());
}

TEST_F(EventStreamTest, GoesOnAfterAnId) {
  Emit(5);
  v1::WatchEventsRequest request;
  request.set_after_id(3);
  EXPECT_THAT(ReadAll(request), ::testing::ElementsAre(4, 5));
  request.set_after_id(5);
  EXPECT_THAT(ReadAll(request), ::testing::IsEmpty());
}

TEST_F(EventStreamTest, TellsOnlyTheLast) {
  Emit(700);
  v1::WatchEventsRequest request;
  request.set_last(2);
  EXPECT_THAT(ReadAll(request), ::testing::ElementsAre(699, 700));
  request.set_last(600);
  EXPECT_EQ(ReadAll(request).size(), 600u);
  request.set_last(EventStream::kMostLast + 1);
  grpc::Status status;
  EXPECT_THAT(ReadAll(request, &status), ::testing::IsEmpty());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(EventStreamTest, AHistoryOfManyPagesIsTold) {
  Emit(3 * EventStream::kHistoryPage);
  const std::vector<uint64_t> ids = ReadAll({});
  ASSERT_EQ(ids.size(), 3u * EventStream::kHistoryPage);
  for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(ids[i], i + 1);
}

TEST_F(EventStreamTest, FollowsWithoutAGapAndWithoutRepeating) {
  Emit(10);
  v1::WatchEventsRequest request;
  request.set_follow(true);
  auto context = Context();
  auto reader = stub_->WatchEvents(context.get(), request);
  std::thread emitter([this] { Emit(500); });
  v1::Event event;
  for (uint64_t id = 1; id <= 510; ++id) {
    ASSERT_TRUE(reader->Read(&event));
    ASSERT_EQ(event.id(), id);
  }
  emitter.join();
  context->TryCancel();
  EXPECT_FALSE(reader->Read(&event));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(EventStreamTest, ASlowReaderIsCutAndCanGoOnAfterItsLastId) {
  v1::WatchEventsRequest request;
  request.set_follow(true);
  auto context = Context();
  auto reader = stub_->WatchEvents(context.get(), request);
  Emit(1);
  v1::Event event;
  ASSERT_TRUE(reader->Read(&event));
  // More than every buffer between the host and this reader holds.
  Emit(2000, std::string(20'000, 'x'));
  uint64_t last = event.id();
  while (reader->Read(&event)) {
    ASSERT_EQ(event.id(), last + 1);
    last = event.id();
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_LT(last, 2001u);
  v1::WatchEventsRequest rest;
  rest.set_after_id(last);
  const std::vector<uint64_t> ids = ReadAll(rest);
  ASSERT_FALSE(ids.empty());
  EXPECT_EQ(ids.front(), last + 1);
  EXPECT_EQ(ids.back(), 2001u);
}

TEST_F(EventStreamTest, AReaderThatGoesAwayIsForgotten) {
  v1::WatchEventsRequest request;
  request.set_follow(true);
  Emit(1);
  {
    auto context = Context();
    auto reader = stub_->WatchEvents(context.get(), request);
    v1::Event event;
    ASSERT_TRUE(reader->Read(&event));
    EXPECT_EQ(host_.subscribers(), 1u);
    context->TryCancel();
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  // Stopping waits until every call is done, hence unsubscribed.
  ASSERT_TRUE(StopServer(absl::Seconds(10)).ok());
  EXPECT_EQ(host_.subscribers(), 0u);
}

}  // namespace
}  // namespace cohost::supervisor
