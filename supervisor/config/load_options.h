// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cohost::supervisor {

// What the command line says about a deployment.
struct LoadOptions {
  // Replace host.runtime_dir and host.state_dir. Unix sockets that the file puts below its own
  // runtime_dir move along.
  std::optional<std::string> runtime_dir;
  std::optional<std::string> state_dir;
  // Added to every TCP port but 0.
  uint16_t port_offset = 0;
  // The text is FormatDeployment's. It says in one file what may have stood in many, and all
  // defaults, so that it may be larger than a file that people write. Modules and images need not
  // exist where they were.
  bool formatted = false;
};

}  // namespace cohost::supervisor
