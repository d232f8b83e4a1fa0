// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"

namespace cohost::worker::native {

// One service of the deployment, as the native runtime needs it.
struct NativeServiceDescription {
  std::string name;
  uint32_t row = 0;  // of the segment
  std::string module_path;
  // Flattened: "db:password", "list:0".
  std::vector<std::pair<std::string, std::string>> settings;
  std::string data_folder;
  // Paths by the name that the module asks for.
  std::map<std::string, std::string> data_images;
  // Of the SDK's alloc; 0: no limit.
  Bytes memory_limit;
};

}  // namespace cohost::worker::native
