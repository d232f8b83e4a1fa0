// SPDX-License-Identifier: Apache-2.0
#include "supervisor/ctl/json_text.h"

#include <google/protobuf/struct.pb.h>

#include "gtest/gtest.h"
#include "proto/admin.pb.h"

namespace cohost::supervisor {
namespace {

TEST(JsonText, IsOneLineOrMany) {
  google::protobuf::Struct message;
  (*message.mutable_fields())["a"].set_string_value("x\n\"y\"");
  EXPECT_EQ(Json(message, /*many_lines=*/false), "{\"a\":\"x\\n\\\"y\\\"\"}\n");
  EXPECT_EQ(Json(message, /*many_lines=*/true), "{\n \"a\": \"x\\n\\\"y\\\"\"\n}\n");
}

TEST(JsonText, HasTheFieldsThatAreAsByDefault) {
  EXPECT_EQ(Json(admin::v1::StopServiceResponse(), /*many_lines=*/false), "{\"eventId\":\"0\"}\n");
}

}  // namespace
}  // namespace cohost::supervisor
