// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cohost::supervisor {

// JSON Schema (2020-12) of a deployment file, for editors. Generated from the key table that the
// parser uses too. Keys of later versions are not in it.
std::string SchemaJson();

}  // namespace cohost::supervisor
