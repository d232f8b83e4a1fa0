// SPDX-License-Identifier: Apache-2.0
//
// cohostctl: looks at a running Cohost host and steers it (proto/admin.proto).
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "supervisor/ctl/commands.h"
#include "supervisor/ctl/invocation.h"

int main(int argc, char** argv) {
  using cohost::supervisor::Look;
  const auto parsed = cohost::supervisor::ParseCommandLine(
      std::vector<std::string>(argv + 1, argv + argc), std::getenv("COHOST_SOCKET"));
  if (!parsed.invocation) {
    (parsed.exit_code == 0 ? std::cout : std::cerr) << parsed.text;
    return parsed.exit_code;
  }
  const char* no_colour = std::getenv("NO_COLOR");
  Look look;
  look.colour = ::isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0');
  look.now = absl::Now();
  return cohost::supervisor::RunCommand(*parsed.invocation, look, std::cout, std::cerr);
}
