// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cohost::supervisor {

// Every key with type, default, range and meaning, as Markdown: the key reference of
// deploy/README.md. Generated from the key table that the parser uses too, so the two agree.
std::string ReferenceMarkdown();

// The two lines around it in deploy/README.md.
inline constexpr char kReferenceBegin[] = "<!-- keys: begin (generated, see CONTRIBUTING.md) -->\n";
inline constexpr char kReferenceEnd[] = "<!-- keys: end -->\n";

}  // namespace cohost::supervisor
