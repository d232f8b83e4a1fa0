// SPDX-License-Identifier: Apache-2.0
#include "supervisor/capabilities.h"

#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <iterator>
#include <memory>

#include "base/status.h"

namespace cohost::supervisor {
namespace {

constexpr cap_value_t kNeeded[] = {
    CAP_NET_BIND_SERVICE, CAP_DAC_READ_SEARCH, CAP_CHOWN, CAP_FOWNER, CAP_KILL, CAP_SYS_PTRACE};

struct FreeCapabilities {
  void operator()(cap_t capabilities) const { cap_free(capabilities); }
};
using Capabilities = std::unique_ptr<_cap_struct, FreeCapabilities>;

}  // namespace

absl::Status KeepNeededCapabilities() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return ErrnoStatus(errno, "prctl(PR_SET_NO_NEW_PRIVS)", "");
  }
  if (geteuid() != 0) return absl::OkStatus();
  const Capabilities present(cap_get_proc());
  const Capabilities wanted(cap_init());
  if (present == nullptr || wanted == nullptr) return ErrnoStatus(errno, "cap_get_proc", "");
  for (const cap_value_t capability : kNeeded) {
    // In a container some may be missing already.
    cap_flag_value_t permitted = CAP_CLEAR;
    if (cap_get_flag(present.get(), capability, CAP_PERMITTED, &permitted) != 0) {
      return ErrnoStatus(errno, "cap_get_flag", "");
    }
    if (permitted != CAP_SET) continue;
    if (cap_set_flag(wanted.get(), CAP_PERMITTED, 1, &capability, CAP_SET) != 0 ||
        cap_set_flag(wanted.get(), CAP_EFFECTIVE, 1, &capability, CAP_SET) != 0) {
      return ErrnoStatus(errno, "cap_set_flag", "");
    }
  }
  if (cap_set_proc(wanted.get()) != 0) return ErrnoStatus(errno, "cap_set_proc", "");
  return absl::OkStatus();
}

}  // namespace cohost::supervisor
