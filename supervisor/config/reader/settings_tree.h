// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "supervisor/config/deployment.h"
#include "supervisor/config/reader/read_context.h"
#include "supervisor/config/yaml/yaml_tree.h"

namespace cohost::supervisor {

// What one service may be given: far beyond any use, and far below a gRPC message.
inline constexpr size_t kMaxSettings = 2000;
inline constexpr size_t kMaxSettingsSize = size_t{256} << 10;

// Flattens a tree of scalars: "db:password", "hosts:0", values as written, in the order of the
// file. Mistakes (no value, two ways to one key, a broken reference, too much) go to `context`
// under `path`.
Settings FlattenSettings(const YamlNode& tree, const std::string& path, const std::string& file,
                         ReadContext& context);

}  // namespace cohost::supervisor
