// SPDX-License-Identifier: Apache-2.0
#include "supervisor/deployer/hosting.h"

namespace cohost::supervisor {

PlacementTraits TraitsOf(const Hosting& hosting) {
  if (hosting.isolation == Isolation::kSolo) {
    return {
        .alone = true,
        .alone_because = hosting.solo_because.empty() ? "`isolation: solo`" : hosting.solo_because,
        .framework = ""};
  }
  return {.alone = false, .alone_because = "", .framework = FrameworkText(hosting.frameworks)};
}

}  // namespace cohost::supervisor
