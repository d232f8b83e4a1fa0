// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/worker_identity.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "supervisor/config/accounts.h"

namespace cohost::supervisor {

absl::StatusOr<ProcessIdentity> ResolveIdentity(const GroupIdentity& identity, bool as_root) {
  if (!as_root) {
    const std::string self = UserName(geteuid());
    if ((identity.user.empty() || identity.user == self) && identity.supplementary_groups.empty()) {
      return ProcessIdentity{};
    }
    return absl::FailedPreconditionError(
        absl::StrCat("only a host started as root can give workers another user or groups: this ",
                     "one runs as ", self));
  }
  const std::string& name = identity.user.empty() ? kDefaultWorkerUser : identity.user;
  absl::StatusOr<User> user = FindUser(name);
  if (absl::IsNotFound(user.status()) && identity.user.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "workers run as the user '", name, "', which does not exist: add it ",
        "(useradd --system --user-group ", name, ") or name another in identity.user"));
  }
  COHOST_RETURN_IF_ERROR(user.status());
  ProcessIdentity out;
  out.uid = user->uid;
  out.gid = user->gid;
  for (const std::string& group : identity.supplementary_groups) {
    COHOST_ASSIGN_OR_RETURN(const gid_t gid, FindUserGroup(group));
    out.supplementary_groups.push_back(gid);
  }
  return out;
}

std::string IdentityName(const ProcessIdentity& identity) {
  return UserName(identity.uid.value_or(geteuid()));
}

}  // namespace cohost::supervisor
