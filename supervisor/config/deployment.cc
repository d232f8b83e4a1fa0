// SPDX-License-Identifier: Apache-2.0
#include "supervisor/config/deployment.h"

#include "absl/strings/str_cat.h"

namespace cohost::supervisor {

std::string Address::Key() const {
  if (kind == Kind::kUnix) return absl::StrCat("unix:", path);
  // IPv6 in brackets, so that its colons and the port's are told apart.
  return host.find(':') == std::string::npos ? absl::StrCat("tcp:", host, ":", port)
                                             : absl::StrCat("tcp:[", host, "]:", port);
}

DotnetPolicy DotnetPolicy::Of(DotnetProfile profile) {
  DotnetPolicy policy;
  policy.profile = profile;
  if (profile == DotnetProfile::kDensity) return policy;
  policy.gc = GarbageCollector::kServer;
  policy.concurrent = true;
  policy.tiered_pgo = true;
  policy.gen0_size = {};
  return policy;
}

}  // namespace cohost::supervisor
