// SPDX-License-Identifier: Apache-2.0
//
// The functions that take a request, called by a module in plain C (modules/plain_c.c).
#include "worker/native/host/host_requests.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tests/worker/native/native_harness.h"
#include "worker/native/host/host_table.h"
#include "worker/native/host/request_table.h"

namespace cohost::worker::native {
namespace {

constexpr char kTraceparent[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class HostRequests : public ::testing::Test {
 protected:
  std::shared_ptr<FakeExchange> Send(const std::string& target) {
    FakeRequest request;
    request.target = target;
    return harness_.Send(service_, request);
  }
  // Has the module keep a request, and returns it.
  std::shared_ptr<FakeExchange> Hold() {
    auto held = Send("/hold");
    while (service_.Health().healthy) std::this_thread::yield();
    return held;
  }

  NativeHarness harness_;
  HostedService& service_ = harness_.MustStart("plain_c");
};

TEST_F(HostRequests, AModuleSeesTheRequestAsItCame) {
  FakeRequest request;
  request.method = "PUT";
  request.target = "/a%20b?c=d";
  request.headers = {
      {"x-Many", "1"}, {"Other", "x"}, {"X-MANY", "2"}, {"traceparent", kTraceparent}};
  request.body = "12345";
  const auto exchange = harness_.Send(service_, request);
  ASSERT_TRUE(exchange->WaitForEnd());
  EXPECT_EQ(exchange->answer().body,
            std::string("PUT /a%20b?c=d 127.0.0.1:1234 1 2 [") + kTraceparent + "] 5");
}

TEST_F(HostRequests, AnotherThreadMayAnswer) {
  EXPECT_EQ(harness_.Get(service_, "/async").body, "from another thread");
}

TEST_F(HostRequests, AHeldRequestIsAnsweredByALaterOne) {
  const auto held = Hold();
  EXPECT_EQ(harness_.Get(service_, "/release").body, std::to_string(COHOST_OK));
  ASSERT_TRUE(held->WaitForEnd());
  EXPECT_EQ(held->answer().body, "released");
  EXPECT_EQ(harness_.Get(service_, "/release").body, std::to_string(COHOST_GONE));
}

TEST_F(HostRequests, AnAnswerAfterCancelGetsGone) {
  const auto held = Hold();
  harness_.Cancel(service_, *held, CancelReason::kRequestTimeout);
  EXPECT_EQ(harness_.Get(service_, "/cancelled").body,
            std::to_string(COHOST_CANCEL_REQUEST_TIMEOUT * 100 + COHOST_GONE));
  EXPECT_EQ(harness_.Get(service_, "/release").body, std::to_string(COHOST_GONE));
  EXPECT_FALSE(held->answer().complete);
}

TEST_F(HostRequests, MisuseChangesNothing) {
  const std::string invalid = std::to_string(COHOST_INVALID);
  EXPECT_EQ(harness_.Get(service_, "/misuse").body, invalid + " " + invalid + " " + invalid);
  EXPECT_EQ(harness_.Get(service_, "/last").body, std::to_string(COHOST_GONE));
}

TEST_F(HostRequests, AbortIsA500) {
  const FakeAnswer answer = harness_.Get(service_, "/abort");
  EXPECT_EQ(answer.status, 500u);
  EXPECT_TRUE(answer.aborted);
}

TEST_F(HostRequests, ABodyIsStreamedBothWaysWithBackPressure) {
  FakeRequest request;
  request.method = "POST";
  request.target = "/echo";
  request.body = std::nullopt;
  const auto exchange = harness_.Send(service_, request);
  exchange->LimitWaitingBytes(1500);
  std::string sent;
  std::string received;
  for (int i = 0; i < 20; ++i) {
    const std::string part(700, static_cast<char>('a' + i));
    exchange->SendBody(part);
    sent += part;
    // The module must stop at the limit: at most one part of 1,000 bytes begins below it.
    EXPECT_LE(exchange->answer().body.size() - received.size(), 2500u);
    received += exchange->TakeBody();
  }
  exchange->EndBody({{"X-Sum", "20"}});
  while (!exchange->WaitForEnd(absl::Milliseconds(1))) received += exchange->TakeBody();
  received += exchange->TakeBody();
  EXPECT_EQ(received, sent);
  const FakeAnswer answer = exchange->answer();
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.content_length, std::nullopt);
  EXPECT_EQ(answer.headers, (HeaderPairs{{"X-Echo", "yes"}}));
  EXPECT_EQ(answer.trailers, (HeaderPairs{{"X-Sum", "20"}}));
}

TEST_F(HostRequests, WaitingEndsWhenTheClientSends) {
  FakeRequest request;
  request.target = "/wait";
  request.body = std::nullopt;
  const auto exchange = harness_.Send(service_, request);
  EXPECT_FALSE(exchange->WaitForEnd(absl::Milliseconds(5)));
  exchange->SendBody("x");
  ASSERT_TRUE(exchange->WaitForEnd());
  EXPECT_EQ(exchange->answer().body, std::to_string(COHOST_OK));
}

TEST_F(HostRequests, WaitingOnTheIoThreadIsRefused) {
  HostedService& inline_service = harness_.MustStart("plain_c_inline");
  EXPECT_EQ(harness_.Get(inline_service, "/wait").body, std::to_string(COHOST_INVALID));
}

TEST_F(HostRequests, ACancelledOneThatNeverReachedTheModuleStaysUnknownToIt) {
  const auto exchange = std::make_shared<FakeExchange>(FakeRequest(), [](auto run) { run(); });
  const CancelReason reason = CancelReason::kClientGone;
  harness_.io().Run([&] { service_.Ended(*exchange, &reason); });
  const uint32_t before = RequestTable::Process().size();
  service_.Handle(exchange);
  EXPECT_EQ(RequestTable::Process().size(), before);
  EXPECT_FALSE(exchange->answer().complete);
}

// The number of a request that this process never gave out.
constexpr cohost_request kUnknown = 0x123456789;

TEST(HostRequestsTable, UnknownNumbersAreGone) {
  const cohost_host& host = HostTable();
  cohost_request_info info = {};
  info.size = sizeof(info);
  char buffer[8];
  size_t read = 0;
  const cohost_header* trailers = nullptr;
  EXPECT_EQ(host.request_info(kUnknown, &info), COHOST_GONE);
  EXPECT_EQ(host.set_request_data(kUnknown, nullptr), COHOST_GONE);
  EXPECT_EQ(host.request_data(kUnknown), nullptr);
  EXPECT_EQ(host.read_body(kUnknown, buffer, sizeof(buffer), &read), COHOST_GONE);
  EXPECT_EQ(host.trailers(kUnknown, &trailers, &read), COHOST_GONE);
  EXPECT_EQ(host.wait_readable(kUnknown), COHOST_GONE);
  EXPECT_EQ(host.wait_writable(kUnknown), COHOST_GONE);
  EXPECT_EQ(host.respond(kUnknown, 200, nullptr, 0, cohost_text("")), COHOST_GONE);
  EXPECT_EQ(host.send_head(kUnknown, 200, nullptr, 0, 0), COHOST_GONE);
  EXPECT_EQ(host.write_body(kUnknown, cohost_text("")), COHOST_GONE);
  EXPECT_EQ(host.finish(kUnknown, nullptr, 0), COHOST_GONE);
  EXPECT_EQ(host.abort(kUnknown), COHOST_GONE);
}

TEST(HostRequestsTable, ImpossibleArgumentsAreInvalid) {
  const cohost_host& host = HostTable();
  const cohost_header broken = {{nullptr, 5}, {nullptr, 0}};
  size_t read = 0;
  EXPECT_EQ(host.request_info(kUnknown, nullptr), COHOST_INVALID);
  EXPECT_EQ(host.read_body(kUnknown, nullptr, 1, &read), COHOST_INVALID);
  EXPECT_EQ(host.on_readable(kUnknown, nullptr, nullptr), COHOST_INVALID);
  EXPECT_EQ(host.respond(kUnknown, 200, &broken, 1, cohost_text("")), COHOST_INVALID);
  EXPECT_EQ(host.respond(kUnknown, 200, nullptr, 1, cohost_text("")), COHOST_INVALID);
  EXPECT_EQ(host.respond(kUnknown, 200, &broken, 100000, cohost_text("")), COHOST_INVALID);
  EXPECT_EQ(host.write_body(kUnknown, {nullptr, 5}), COHOST_INVALID);
}

TEST(Traceparent, OnlyWhatTheRecommendationAllowsIsPassedOn) {
  const std::string good = kTraceparent;
  EXPECT_TRUE(IsTraceparent(good));
  EXPECT_TRUE(IsTraceparent("01" + good.substr(2) + "-more"));
  EXPECT_FALSE(IsTraceparent(good + "-more"));
  EXPECT_FALSE(IsTraceparent("ff" + good.substr(2)));
  EXPECT_FALSE(IsTraceparent(good.substr(1)));
  EXPECT_FALSE(IsTraceparent("00-00000000000000000000000000000000-b7ad6b7169203331-01"));
  EXPECT_FALSE(IsTraceparent("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"));
  EXPECT_FALSE(IsTraceparent("00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
  EXPECT_FALSE(IsTraceparent(""));
}

}  // namespace
}  // namespace cohost::worker::native
