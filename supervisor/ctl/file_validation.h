// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "proto/admin.pb.h"

namespace cohost::supervisor {

// Checks a deployment file here, without a host, exactly as a start or a reload would.
admin::v1::ValidateResponse ValidateFile(const std::string& path);

}  // namespace cohost::supervisor
