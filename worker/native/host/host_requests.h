// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "worker/sdk/cohost.h"

namespace cohost::worker::native {

// Puts the functions of cohost.h that take a request into `host`. They check what the module gives,
// find the exchange by its number, and translate; any thread.
void FillRequestFunctions(cohost_host& host);

// Whether `value` is a traceparent of the W3C recommendation that may be passed on.
bool IsTraceparent(std::string_view value);

}  // namespace cohost::worker::native
