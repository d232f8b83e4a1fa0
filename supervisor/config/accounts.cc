// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/accounts.h"

#include <grp.h>
#include <pwd.h>

#include <cerrno>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace cohost::supervisor {
namespace {

// A group with thousands of members needs a large buffer; 1 MiB is the end.
constexpr size_t kFirstBuffer = 4096;
constexpr size_t kLastBuffer = size_t{1} << 20;

// Calls one of the get..._r functions with a buffer that is large enough. False: not found.
template <typename Entry, typename Call>
absl::StatusOr<bool> LookUp(std::string_view what, std::vector<char>& buffer, Entry& entry,
                            Call call) {
  for (size_t size = kFirstBuffer; size <= kLastBuffer; size *= 4) {
    buffer.resize(size);
    Entry* found = nullptr;
    int error = 0;
    do {
      error = call(&entry, buffer.data(), buffer.size(), &found);
    } while (error == EINTR);
    if (error == ERANGE) continue;
    // What "not found" looks like differs between name services (getpwnam(3)).
    if (error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM) {
      return found != nullptr;
    }
    return ErrnoStatus(error, "look up", what);
  }
  return absl::ResourceExhaustedError("account entry larger than 1 MiB");
}

// The C library would take what is in front of a NUL for the name.
bool IsWhole(const std::string& name) { return name.find('\0') == std::string::npos; }

struct NamedUser {
  std::string name;
  User user;
};

absl::StatusOr<NamedUser> LookUpById(uid_t uid) {
  passwd entry{};
  std::vector<char> buffer;
  COHOST_ASSIGN_OR_RETURN(const bool found,
                          LookUp(absl::StrCat("uid ", uid), buffer, entry,
                                 [uid](passwd* out, char* data, size_t size, passwd** result) {
                                   return getpwuid_r(uid, out, data, size, result);
                                 }));
  if (!found) return absl::NotFoundError(absl::StrCat("no user with number ", uid));
  return NamedUser{entry.pw_name, {entry.pw_uid, entry.pw_gid}};
}

}  // namespace

absl::StatusOr<User> FindUser(const std::string& name) {
  passwd entry{};
  std::vector<char> buffer;
  COHOST_ASSIGN_OR_RETURN(
      const bool found,
      LookUp(name, buffer, entry, [&](passwd* out, char* data, size_t size, passwd** result) {
        return getpwnam_r(name.c_str(), out, data, size, result);
      }));
  if (!found || !IsWhole(name))
    return absl::NotFoundError(absl::StrCat("no user '", name, "' on this machine"));
  return User{entry.pw_uid, entry.pw_gid};
}

absl::StatusOr<gid_t> FindUserGroup(const std::string& name) {
  group entry{};
  std::vector<char> buffer;
  COHOST_ASSIGN_OR_RETURN(
      const bool found,
      LookUp(name, buffer, entry, [&](group* out, char* data, size_t size, group** result) {
        return getgrnam_r(name.c_str(), out, data, size, result);
      }));
  if (!found || !IsWhole(name)) {
    return absl::NotFoundError(absl::StrCat("no group of users '", name, "' on this machine"));
  }
  return entry.gr_gid;
}

absl::StatusOr<User> FindUserById(uid_t uid) {
  COHOST_ASSIGN_OR_RETURN(const NamedUser found, LookUpById(uid));
  return found.user;
}

std::string UserName(uid_t uid) {
  const absl::StatusOr<NamedUser> found = LookUpById(uid);
  return found.ok() ? found->name : absl::StrCat(uid);
}

}  // namespace cohost::supervisor
