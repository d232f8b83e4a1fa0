// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cohost::supervisor {

// The completion script for `shell`: bash, zsh or fish. It completes commands, options, and names
// of services and groups as the running host has them.
std::string CompletionScript(std::string_view shell);

}  // namespace cohost::supervisor
