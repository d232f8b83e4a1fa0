// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace cohost::supervisor {

// A user of the system's account database.
struct User {
  uid_t uid = 0;
  gid_t gid = 0;  // primary group
};

// NOT_FOUND when the name is unknown. A name is never taken for a number. They ask the name service
// switch, which may block on a network when the machine is set up so. Thread-safe.
absl::StatusOr<User> FindUser(const std::string& name);
absl::StatusOr<User> FindUserById(uid_t uid);
absl::StatusOr<gid_t> FindUserGroup(const std::string& name);

// For people: the name of a user, or the number where it has none.
std::string UserName(uid_t uid);

}  // namespace cohost::supervisor
