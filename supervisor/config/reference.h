// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cohost::supervisor {

// Both are generated from the key table (key_table.h), which the parser uses too, so they cannot
// disagree with it.

// JSON Schema (2020-12) of a deployment file, for editors.
std::string SchemaJson();

// Every key with type, default, range and meaning: the key reference of deploy/README.md.
std::string ReferenceMarkdown();

}  // namespace cohost::supervisor
