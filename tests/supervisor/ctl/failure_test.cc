// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/failure.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace cohost::supervisor {
namespace {

constexpr const char* kSocket = "/run/cohost/admin.sock";

Failure Of(int code) {
  return CallFailure(grpc::Status(static_cast<grpc::StatusCode>(code), "the host's own words"),
                     kSocket);
}

TEST(CallFailure, AWrongCallIsOneInTheHostsOwnWords) {
  for (const int code : {grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::NOT_FOUND,
                         grpc::StatusCode::ALREADY_EXISTS, grpc::StatusCode::FAILED_PRECONDITION,
                         grpc::StatusCode::OUT_OF_RANGE, grpc::StatusCode::RESOURCE_EXHAUSTED}) {
    EXPECT_EQ(Of(code).code, ExitCode::kWrongCall) << code;
    EXPECT_EQ(Of(code).message, "the host's own words") << code;
  }
}

TEST(CallFailure, AHostThatCannotBeHadIsTwoAndNamesItsSocket) {
  const std::set<int> wrong_call = {3, 5, 6, 8, 9, 11};
  for (int code = 1; code <= 16; ++code) {
    if (wrong_call.contains(code)) continue;
    EXPECT_EQ(Of(code).code, ExitCode::kNoHost) << code;
    EXPECT_NE(Of(code).message.find(kSocket), std::string::npos) << code;
  }
}

TEST(CallFailure, ACodeOfANewerVersionIsNoSuccess) {
  const Failure failure = Of(99);
  EXPECT_EQ(failure.code, ExitCode::kNoHost);
  EXPECT_NE(failure.message.find("the host's own words"), std::string::npos);
}

TEST(CallFailure, CausesThatWantDifferentActionsAreToldApart) {
  std::set<std::string> messages;
  for (const int code : {grpc::StatusCode::DEADLINE_EXCEEDED, grpc::StatusCode::UNAVAILABLE,
                         grpc::StatusCode::UNIMPLEMENTED, grpc::StatusCode::INTERNAL}) {
    EXPECT_TRUE(messages.insert(Of(code).message).second) << code;
  }
}

}  // namespace
}  // namespace cohost::supervisor
