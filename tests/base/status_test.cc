// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <cerrno>

#include "gtest/gtest.h"

namespace cohost {
namespace {

TEST(ErrnoStatus, NamesCallObjectAndReason) {
  const absl::Status status = ErrnoStatus(EACCES, "open", "/x/y");
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(status.message(), "open '/x/y': Permission denied");
  EXPECT_EQ(ErrnoStatus(ENOENT, "fork", "").message(), "fork: No such file or directory");
}

TEST(ErrnoStatus, CodesFollowErrno) {
  EXPECT_EQ(ErrnoStatus(ENOENT, "", "").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ErrnoStatus(EMFILE, "", "").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrnoStatus(EEXIST, "", "").code(), absl::StatusCode::kAlreadyExists);
}

TEST(Annotate, PutsTheContextInFront) {
  EXPECT_EQ(Annotate(absl::NotFoundError("gone"), "worker").message(), "worker: gone");
  EXPECT_EQ(Annotate(absl::NotFoundError("gone"), "worker").code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Annotate(absl::OkStatus(), "worker").ok());
}

absl::StatusOr<int> Twice(absl::StatusOr<int> value) {
  COHOST_ASSIGN_OR_RETURN(const int number, value);
  COHOST_RETURN_IF_ERROR(number < 0 ? absl::InvalidArgumentError("negative") : absl::OkStatus());
  return 2 * number;
}

TEST(StatusMacros, ReturnTheFirstError) {
  EXPECT_EQ(*Twice(21), 42);
  EXPECT_EQ(Twice(-1).status().message(), "negative");
  EXPECT_EQ(Twice(absl::NotFoundError("none")).status().message(), "none");
}

}  // namespace
}  // namespace cohost
